package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

// External is what a host needs to run on NATS servers that somebody else runs:
// the content of the credentials file that NewExternal makes for it. Whoever has
// it can read and write everything, so it is kept like a key.
type External struct {
	// Format is the version of this file's format.
	Format int `json:"format"`
	// Deployment, Cluster (its name for people), Partitions (1 to 64), Replicas
	// (1, 3 or 5), Epoch and CEO (a public key) are as in a manifest.
	Deployment string `json:"deployment"`
	Cluster    string `json:"cluster"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Epoch      uint64 `json:"epoch"`
	CEO        string `json:"ceo"`
	// Servers are the URLs of the servers, joined by commas.
	Servers string `json:"servers"`
	// Authority is who signs the servers' certificates, in PEM; empty means
	// whoever the system trusts.
	Authority string `json:"authority,omitempty"`
	// Keys are nkey seeds: of the host, by account, and of the operator, the
	// CEO's way in and the registrar, by their names.
	Keys map[string]string `json:"keys"`
}

// externalFormat is the newest credentials file that this build reads.
const externalFormat = 1

// systems are the accounts in which a host on other servers has a key of its
// own: in the last one it only asks how the servers keep streams.
var systems = []string{edge, tasked, core, control, system}

// locals are who the command line connects as on a host's machine.
var locals = []user{
	{kind: operator, name: "operator", inbox: "_INBOX_operator"},
	{kind: ceo, name: "ceo", inbox: "_INBOX_ceo"},
	{kind: registrar, name: string(registrar), inbox: "_INBOX_registrar"},
}

// ReadExternal reads a credentials file. It returns data/permissions when others
// may read it, and identity/file when it is none that this build understands.
func ReadExternal(path string) (*External, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fault.New("data/permissions", "others may read the host's credentials (mode %04o)", info.Mode().Perm()).At(path).Want("chmod 600 it")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New("identity/file", "the host's credentials cannot be read").At(path).Because(err).Want("make them with: loom auth nats")
	}
	e := new(External)
	decode := json.NewDecoder(bytes.NewReader(data))
	decode.DisallowUnknownFields()
	if err := decode.Decode(e); err != nil {
		return nil, fault.New("identity/file", "these are no credentials of a host").At(path).Because(err).Want("make them with: loom auth nats")
	}
	if err := e.check(); err != nil {
		return nil, fault.New("identity/file", "the host's credentials are not sound").At(path).Because(err)
	}
	return e, nil
}

// check returns what is wrong with e.
func (e *External) check() error {
	switch {
	case e.Format != externalFormat:
		return fmt.Errorf("they are of format %d and this build reads %d", e.Format, externalFormat)
	case e.Deployment == "" || e.Epoch < 1 || e.Servers == "":
		return errors.New("they name no deployment, epoch or servers")
	case e.Partitions < 1 || e.Partitions > 64:
		return fmt.Errorf("a deployment has 1 to 64 partitions, not %d", e.Partitions)
	case e.Replicas != 1 && e.Replicas != 3 && e.Replicas != 5:
		return fmt.Errorf("a stream has 1, 3 or 5 replicas, not %d", e.Replicas)
	}
	_, err := e.users("host")
	return err
}

// Place is e as a data directory knows it.
func (e *External) Place() *datadir.External {
	return &datadir.External{
		Deployment: e.Deployment, Name: e.Cluster, Partitions: e.Partitions, Replicas: e.Replicas, Epoch: e.Epoch, CEO: e.CEO,
	}
}

// users are those whose keys e has: the host of that name in each account, and
// the locals.
func (e *External) users(name string) (all []user, err error) {
	for _, account := range systems {
		u, err := e.keyed(account, user{kind: host, name: name, account: account, inbox: "_INBOX_host"})
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	for _, u := range locals {
		if u, err = e.keyed(u.name, u); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// keyed gives u a key of e.
func (e *External) keyed(name string, u user) (user, error) {
	u.seed = []byte(e.Keys[name])
	pair, err := nkeys.FromSeed(u.seed)
	if err == nil {
		u.public, err = pair.PublicKey()
	}
	if err != nil || !nkeys.IsValidPublicUserKey(u.public) {
		return u, fmt.Errorf("they have no user's key for %s", name)
	}
	return u, nil
}

// kept is users for the host of a data directory, in which the keys of the
// locals are put for the command line.
func (e *External) kept(dir *datadir.Dir) ([]user, error) {
	all, err := e.users(dir.Manifest().Host)
	if err != nil {
		return nil, fault.New("identity/file", "the host's credentials are not sound").Because(err)
	}
	for _, u := range all {
		if u.kind == host {
			continue
		}
		if err := dir.WriteFile(u.seed, file(u)...); err != nil {
			return nil, err
		}
	}
	if e.Authority == "" {
		return all, nil
	}
	return all, dir.WriteFile([]byte(e.Authority), authorityFile...)
}

// authorityFile is where the authority of other servers is kept.
var authorityFile = []string{"creds", "authority.pem"}

// dial connects as u. It says whether the servers cannot be reached, or do not
// know the key.
func (e *External) dial(u user, options ...nats.Option) (*nats.Conn, error) {
	options = append(u.options(), options...)
	if e.Authority != "" {
		trust, err := certificate.Trust([]byte(e.Authority))
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(trust))
	}
	nc, err := nats.Connect(e.Servers, options...)
	switch {
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return nil, fault.New("request/denied", "the NATS servers at %s do not know the key of %s %s", e.Servers, u.kind, u.account).Because(err).
			Want("include the configuration that \"loom auth nats\" wrote, and reload the servers")
	}
	return nil, fault.New("host/unavailable", "no NATS server answers at %s", e.Servers).Because(err)
}

// What other servers must be and have.
const (
	oldestMajor, oldestMinor = 2, 12
	askWithin                = 2 * time.Second
)

// checkServers returns why the servers cannot carry a deployment.
func (b *Broker) checkServers(ctx context.Context) error {
	nc := b.conns[core]
	var major, minor int
	if _, err := fmt.Sscanf(nc.ConnectedServerVersion(), "%d.%d", &major, &minor); err != nil || major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fault.New("host/unavailable", "the NATS server at %s is of version %s", nc.ConnectedUrlRedacted(), nc.ConnectedServerVersion()).
			Want("nats-server %d.%d or newer", oldestMajor, oldestMinor)
	}
	if nc.MaxPayload() < largest {
		return fault.New("host/unavailable", "the NATS server takes messages of %d bytes at most", nc.MaxPayload()).Want("max_payload: %d", largest)
	}
	err := b.leader(ctx) // without a leader nobody answers, which is waited for later
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fault.New("host/unavailable", "the NATS servers at %s have no JetStream for account %s", b.config.External.Servers, core).Because(err).
			Want("jetstream { store_dir: ..., sync_interval: always } in their configuration")
	}
	return nil
}

// askSync asks all servers that keep streams whether they sync each write
// before they acknowledge it. One that does not is refused with data/sync; when
// they do not say, that is said loudly and borne.
func (b *Broker) askSync(ctx context.Context) error {
	said, err := b.ask(ctx, countSubject)
	if err != nil || len(said) == 0 {
		b.log.Warn("WHETHER THE NATS SERVERS SYNC EACH WRITE IS NOT KNOWN: unless their configuration says \"sync_interval: always\", a power cut takes acknowledged work", "error", err)
		return nil
	}
	size := 1
	for _, m := range said {
		var s struct {
			Server server.ServerInfo `json:"server"`
			Data   server.JSInfo     `json:"data"`
		}
		if err := json.Unmarshal(m.Data, &s); err != nil || s.Data.Disabled {
			continue // it keeps no stream
		}
		if !s.Data.Config.SyncAlways {
			return fault.New("data/sync", "NATS server %s acknowledges a write before it is on the disk", s.Server.Name).
				Want("jetstream { sync_interval: always } in its configuration")
		}
		if s.Data.Meta != nil {
			size = max(size, s.Data.Meta.Size)
		}
	}
	b.log.Info("the NATS servers sync each write", "servers", len(said))
	return b.enough(size)
}

// enough returns host/unavailable when fewer servers keep streams than each
// stream shall have replicas, those that are away included. When one keeps what
// several could, that is said.
func (b *Broker) enough(servers int) error {
	switch replicas := b.Replicas(); {
	case servers < replicas:
		return fault.New("host/unavailable", "%d of the NATS servers keeps streams, and the deployment has %d replicas of each", servers, replicas).
			Want("a cluster of %d servers with JetStream, or credentials made with --replicas 1", replicas)
	case replicas == 1 && servers > 1:
		b.log.Warn("each stream is kept by one of the NATS servers: without it, nothing is written; credentials made with --replicas 3 begin a deployment that goes on", "servers", servers)
	}
	return nil
}

// ask returns what all servers answer within a time.
func (b *Broker) ask(ctx context.Context, subject string) (answers []*nats.Msg, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	nc := b.conns[system]
	if nc == nil {
		return nil, nil
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return answers, nil
		case err != nil:
			return answers, err
		case m.Header.Get("Status") == "503":
			return nil, nats.ErrNoResponders
		}
		answers = append(answers, m)
	}
}

// Configuration returns what the servers must include to let in the hosts with
// these credentials, the deployment's own command line, and its identities as
// they are now, with the rights that a host's own server gives: accounts, users
// by their keys, permissions.
func Configuration(hosts []External, identities []identity.User) (string, error) {
	if len(hosts) == 0 {
		return "", fault.New("usage/argument", "a deployment has one host at least")
	}
	lines := map[string][]string{}
	add := func(u user) {
		account := u.rights().account
		lines[account] = append(lines[account], u.line())
	}
	for i, e := range hosts {
		all, err := e.users("host")
		if err != nil {
			return "", fault.New("identity/file", "credentials of a host are not sound").Because(err)
		}
		for _, u := range all {
			if i == 0 || u.kind == host { // the locals are the same for all
				add(u)
			}
		}
	}
	for _, i := range identities {
		if i.Valid(time.Now()) {
			for _, u := range usersOf(i) {
				add(u)
			}
		}
	}
	text := accountsText(hosts[0].Replicas, []string{edge}, func(account string) string {
		return "users: [\n" + strings.Join(lines[account], "") + "]\n"
	})
	return fmt.Sprintf("# Accounts of Loom, deployment %s. Include it in the configuration of each\n"+
		"# nats-server of version %d.%d or newer, which needs besides:\n"+
		"#   jetstream { store_dir: \"...\", sync_interval: always }\n"+
		"max_payload: %d\n%s", hosts[0].Deployment, oldestMajor, oldestMinor, largest, text), nil
}

// line is u in the language of the servers' configuration.
func (u user) line() string {
	r := u.rights()
	if u.account == system { // where everything of the servers can be done
		r = rights{publish: []string{countSubject}, subscribe: []string{u.inbox + ".>"}}
	}
	if r.all {
		return fmt.Sprintf("{nkey: %s}\n", u.public)
	}
	return fmt.Sprintf("{nkey: %s, permissions: {publish: {allow: %s}, subscribe: {allow: %s}}}\n", u.public, list(r.publish), list(r.subscribe))
}

func list(subjects []string) string {
	quoted := make([]string, len(subjects))
	for i, s := range subjects {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// NewExternal returns the credentials of so many hosts of a new deployment that
// is as said in of, whose Deployment and Keys are made here: each has keys of
// its own, and all the same of the locals. It returns usage/argument.
func NewExternal(of External, hosts int) ([]External, error) {
	if hosts < 1 || hosts > 64 {
		return nil, fault.New("usage/argument", "a deployment has 1 to 64 hosts, not %d", hosts).At("--hosts")
	}
	of.Format, of.Deployment, of.Epoch = externalFormat, datadir.NewDeployment(), 1
	common := map[string]string{}
	for _, u := range locals {
		if err := key(common, u.name); err != nil {
			return nil, err
		}
	}
	var all []External
	for range hosts {
		e := of
		e.Keys = map[string]string{}
		maps.Copy(e.Keys, common)
		for _, account := range systems {
			if err := key(e.Keys, account); err != nil {
				return nil, err
			}
		}
		if err := e.check(); err != nil {
			return nil, fault.New("usage/argument", "%s", err)
		}
		all = append(all, e)
	}
	return all, nil
}

func key(keys map[string]string, name string) error {
	u, err := fresh(user{name: name})
	keys[name] = string(u.seed)
	return err
}
