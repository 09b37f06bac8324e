package broker

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/datadir"
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// The accounts. What is in one cannot be reached from another, except for
// what is exported: a publisher can steer the server's acknowledgement into
// any stream of its own account by the reply subject it chooses, so journals
// and clients must not share one.
const (
	edge    = "EDGE"    // clients: submissions, services, notices
	core    = "CORE"    // hosts: journals, work, blobs
	control = "CONTROL" // the CEO's signed commands
)

var accounts = []string{edge, core, control}

// kind is a sort of user, a row of the permission table.
type kind string

const (
	host      kind = "host"
	operator  kind = "operator"
	publisher kind = "publisher"
	anonymous kind = "anonymous"
	ceo       kind = "ceo"
)

// rights is what a user may do. A nil list means everything in its account,
// which only hosts have.
type rights struct {
	publish, subscribe []string
}

// svc is the subject of a service.
func svc(name string) string { return subject.Service(subject.Must(name)) }

// permissions is the table: what each kind of user may do beside reading its
// own inboxes. Clients without credentials are one user, and can read each
// other's answers; whoever minds has a key.
var permissions = map[kind]rights{
	host:      {},
	operator:  {append([]string{subject.Services()}, submissions...), observations},
	publisher: {append([]string{svc("submit"), svc("report"), svc("notices")}, submissions...), observations},
	anonymous: {append([]string{svc("submit"), svc("report"), svc("notices")}, submissions...), observations},
	ceo:       {[]string{subject.CEOs()}, nil},
}

var (
	submissions  = []string{subject.Tasks(), subject.Errors()}
	observations = []string{subject.EveryNotice(), subject.Lives()}
)

// user is somebody who can connect.
type user struct {
	kind    kind
	name    string
	account string
	inbox   string // prefix of its inboxes
	public  string // nkey; empty for the user without credentials
	seed    []byte // nil when only the user has it
}

// identity is on whose behalf a request of u is done.
func (u user) identity() *loomv1.Identity {
	kinds := map[kind]loomv1.IdentityKind{
		host:      loomv1.IdentityKind_IDENTITY_KIND_HOST,
		operator:  loomv1.IdentityKind_IDENTITY_KIND_OPERATOR,
		publisher: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER,
		anonymous: loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS,
	}
	return &loomv1.Identity{Kind: kinds[u.kind], Name: u.name}
}

// options are what a client of u connects with.
func (u user) options() []nats.Option {
	options := []nats.Option{nats.CustomInboxPrefix(u.inbox)}
	if u.seed == nil {
		return options
	}
	return append(options, nats.Nkey(u.public, func(nonce []byte) ([]byte, error) {
		pair, err := nkeys.FromSeed(u.seed)
		if err != nil {
			return nil, err
		}
		defer pair.Wipe()
		return pair.Sign(nonce)
	}))
}

// users returns everybody who can connect. The hosts' keys are new at each
// start and never written.
func (c Config) users() ([]user, error) {
	var all []user
	for _, account := range accounts {
		u, err := fresh(user{kind: host, name: c.Dir.Manifest().Host, account: account, inbox: "_INBOX_host"})
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	for _, u := range []user{
		{kind: operator, name: "operator", account: edge, inbox: "_INBOX_operator"},
		{kind: ceo, name: "ceo", account: control, inbox: "_INBOX_ceo"},
	} {
		u, err := kept(c.Dir, u)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	for _, p := range c.Publishers {
		u, err := p.user()
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	if c.anonymous() {
		all = append(all, user{kind: anonymous, name: "anonymous", account: edge, inbox: "_INBOX"})
	}
	return all, nil
}

// user returns the user that p is.
func (p Publisher) user() (user, error) {
	if _, err := subject.Parse("publisher", p.Name); err != nil {
		return user{}, err
	}
	if !nkeys.IsValidPublicUserKey(p.Key) {
		return user{}, fault.New("usage/argument", "key of publisher %q is not a public user nkey", p.Name).Got(p.Key)
	}
	return user{kind: publisher, name: p.Name, account: edge, inbox: "_INBOX_publisher_" + p.Name, public: p.Key}, nil
}

// fresh gives u a new key.
func fresh(u user) (user, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return u, fmt.Errorf("broker: key of %s: %w", u.name, err)
	}
	if u.seed, err = pair.Seed(); err != nil {
		return u, fmt.Errorf("broker: key of %s: %w", u.name, err)
	}
	u.public, err = pair.PublicKey()
	return u, err
}

// configuration returns the accounts in the server's own language.
func configuration(users []user) string {
	var b strings.Builder
	fmt.Fprintf(&b, "system_account: SYS\naccounts {\nSYS {}\n")
	fmt.Fprintf(&b, "%s { jetstream: enabled\n%sexports: [\n", core, list(core, users))
	fmt.Fprintf(&b, "{service: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n]}\n",
		subject.Services(), edge, subject.EveryNotice(), edge, subject.Lives(), edge)
	fmt.Fprintf(&b, "%s { jetstream: {max_memory: 0, max_store: %d, max_streams: 1, max_consumers: 4}\n", edge, taskBytes)
	fmt.Fprintf(&b, "limits {max_payload: %d, max_subscriptions: 65536, max_connections: 4096}\n%simports: [\n", edgePayload, list(edge, users))
	// share: the server stamps each request with who made it.
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}, share: true}\n", core, subject.Services())
	fmt.Fprintf(&b, "{stream: {account: %s, subject: %q}}\n{stream: {account: %s, subject: %q}}\n]}\n",
		core, subject.EveryNotice(), core, subject.Lives())
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_connections: 64}\n%s}\n}\n", control, edgePayload, list(control, users))
	for _, u := range users {
		if u.public == "" {
			fmt.Fprintf(&b, "no_auth_user: %s\n", u.name)
		}
	}
	return b.String()
}

// edgePayload is the largest message of a client: a submission of 256 KiB and
// its headers.
const edgePayload = 256<<10 + 16<<10

// list returns the users of an account.
func list(account string, users []user) string {
	var b strings.Builder
	b.WriteString("users: [\n")
	for _, u := range users {
		if u.account == account {
			b.WriteString(u.configuration())
		}
	}
	b.WriteString("]\n")
	return b.String()
}

// configuration returns u with its permissions.
func (u user) configuration() string {
	id := "nkey: " + u.public
	if u.public == "" {
		id = "user: " + u.name
	}
	if u.kind == host {
		return "{" + id + "}\n"
	}
	may := permissions[u.kind]
	subscribe := append([]string{u.inbox + ".>"}, may.subscribe...)
	return fmt.Sprintf("{%s, permissions: {publish: {allow: %s}, subscribe: {allow: %s}}}\n", id, quoted(may.publish), quoted(subscribe))
}

func quoted(subjects []string) string {
	q := make([]string, len(subjects))
	for i, s := range subjects {
		q[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// options returns the server's options.
func (c Config) options(users []user) (*server.Options, error) {
	options := new(server.Options)
	if err := options.ProcessConfigString(configuration(users)); err != nil {
		return nil, fault.New("internal/error", "the accounts cannot be configured").Because(err)
	}
	options.ServerName = c.Dir.Manifest().Host
	options.NoSigs = true
	options.JetStream = true
	options.StoreDir = c.Dir.Path()
	options.SyncAlways = true
	options.JetStreamMaxMemory = 512 << 20
	options.JetStreamMaxStore = c.JournalBytes + c.BlobBytes + otherBytes
	options.MaxPayload = 2 << 20
	return options, c.listen(options)
}

// file returns where the seed of a kept user is.
func file(u user) []string { return []string{"creds", u.name + ".nk"} }

// kept gives u the key in its file, or a new one that it puts there, 0600.
func kept(dir *datadir.Dir, u user) (user, error) {
	if known, err := readKey(dir.Path(file(u)...), u); err == nil {
		return known, nil
	}
	u, err := fresh(u)
	if err != nil {
		return u, err
	}
	return u, dir.WriteFile(u.seed, file(u)...)
}
