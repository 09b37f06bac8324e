package broker

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/store/datadir"
)

// user is somebody who can connect.
type user struct {
	kind     kind
	name     string
	account  string   // of a host; the others have that of their kind
	inbox    string   // prefix of its inboxes
	public   string   // nkey; empty for the user without credentials
	seed     []byte   // nil when only the user has it
	projects []string // all that it may see; none means all there are
	roles    []string // whose work it may pull
	until    time.Time
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

// users returns those who can connect because the host itself says so. The
// hosts' keys are new at each start and never written.
func (c Config) users() ([]user, error) {
	if c.External != nil {
		return c.External.kept(c.Dir)
	}
	var all []user
	mine := accounts
	if c.clustered() {
		mine = append(slices.Clone(accounts), system)
	}
	for _, account := range mine {
		u, err := fresh(user{kind: host, name: c.Dir.Manifest().Host, account: account, inbox: "_INBOX_host"})
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	keep := []user{
		{kind: operator, name: "operator", inbox: "_INBOX_operator"},
		{kind: ceo, name: "ceo", inbox: "_INBOX_ceo"},
	}
	if c.clustered() {
		keep = append(keep, user{kind: registrar, name: string(registrar), inbox: "_INBOX_registrar"})
	}
	for _, u := range keep {
		u, err := kept(c.Dir, u)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	if c.anonymous() {
		all = append(all, user{kind: anonymous, name: "anonymous", inbox: "_INBOX"})
	}
	return all, nil
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
