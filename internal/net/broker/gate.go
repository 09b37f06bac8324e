package broker

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/identity"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// gate decides who may connect, and as whom; the server asks it about every
// connection of a client. Identities come and go while the server runs: a
// connection ends when its identity does.
type gate struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	server   *server.Server
	nobody   *user           // who connects without credentials; nil if none may
	own      map[string]user // by public key: whom the host itself lets in
	known    map[string]user // by public key: the deployment's identities
	admitted map[uint64]user // by connection
}

func newGate(log *slog.Logger, users []user) *gate {
	g := &gate{log: log, now: time.Now, own: map[string]user{}, known: map[string]user{}, admitted: map[uint64]user{}}
	for _, u := range users {
		if u.kind == anonymous {
			g.nobody = &u
			continue
		}
		g.own[u.public] = u
	}
	return g
}

// guard says which server the gate stands before.
func (g *gate) guard(s *server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = s
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	key, ok := proven(c)
	if !ok {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.who(key)
	if !ok || g.server == nil {
		return false
	}
	r := u.rights()
	account, err := g.server.LookupAccount(r.account)
	if err != nil {
		g.log.Error("an account is missing", "account", r.account, "error", err)
		return false
	}
	// The name is what the server stamps on requests in the place of the key:
	// so every host of a cluster can read who asks.
	c.GetOpts().Nkey = ""
	c.RegisterUser(&server.User{Username: u.stamp(), Account: account, Permissions: r.permissions(), ConnectionDeadline: u.until})
	if g.forget(); u.public != "" {
		g.admitted[c.GetID()] = u
	}
	return true
}

// proven returns the public key that a client has shown to have, or "" for one
// that claims nothing.
func proven(c server.ClientAuthentication) (key string, ok bool) {
	o := c.GetOpts()
	if o.Nkey == "" {
		return "", o.Username == "" && o.Password == "" && o.Token == "" && o.JWT == ""
	}
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		if signature, err = base64.StdEncoding.DecodeString(o.Sig); err != nil {
			return "", false
		}
	}
	public, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || !nkeys.IsValidPublicUserKey(o.Nkey) || public.Verify(c.GetNonce(), signature) != nil {
		return "", false
	}
	return o.Nkey, true
}

// who returns the user with a key who may connect now.
func (g *gate) who(key string) (user, bool) {
	if key == "" {
		if g.nobody == nil {
			return user{}, false
		}
		return *g.nobody, true
	}
	if u, ok := g.own[key]; ok {
		return u, true
	}
	u, ok := g.known[key]
	return u, ok && g.now().Before(u.until)
}

// sender is whoever has a key now, as one whose request came in.
func (g *gate) sender(key string) (sender, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.who(key)
	if !ok {
		return sender{}, fault.New("request/denied", "the request's sender is not known, or not any more")
	}
	return stamped(u.stamp())
}

// forget drops connections that are gone, now and then.
func (g *gate) forget() {
	const often = 64
	if len(g.admitted) < often || len(g.admitted) < 2*g.server.NumClients() {
		return
	}
	for id := range g.admitted {
		if g.server.GetClient(id) == nil {
			delete(g.admitted, id)
		}
	}
}

// admit takes the deployment's identities as they are now, and ends the
// connections of those that are gone or have become another. With an error,
// which is a list that cannot be trusted, nobody of them may stay.
func (g *gate) admit(list []identity.User, err error) {
	if err != nil {
		g.log.Error("no identity of the deployment is let in", "error", err)
		list = nil
	}
	known := map[string]user{}
	for _, i := range list {
		if !i.Valid(g.now()) {
			continue
		}
		for _, u := range usersOf(i) {
			known[u.public] = u
		}
	}
	for id, name := range g.replace(known) {
		g.log.Info("a connection ends with its identity", "identity", name)
		_ = g.server.DisconnectClientByID(id)
	}
}

// replace returns the connections that end, with their users' names.
func (g *gate) replace(known map[string]user) map[uint64]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = known
	ended := map[uint64]string{}
	for id, u := range g.admitted {
		if _, own := g.own[u.public]; own {
			continue
		}
		if now, ok := known[u.public]; !ok || !now.same(u) {
			ended[id] = u.name
			delete(g.admitted, id)
		}
	}
	return ended
}

// same says whether a connection as o is one as u.
func (u user) same(o user) bool { return u.stamp() == o.stamp() && u.until.Equal(o.until) }

// watch keeps the gate as the store is, until ctx ends.
func (g *gate) watch(ctx context.Context, s identity.Store) { s.Watch(ctx, g.admit) }

// stamp is u as the server shows it to whom a request is passed on.
func (u user) stamp() string {
	return strings.Join([]string{string(u.kind), u.name, strings.Join(u.projects, ","), strings.Join(u.roles, ",")}, ":")
}

// sender is who makes a request.
type sender struct {
	who             *loomv1.Identity
	projects, roles []string // that narrow it
}

// stamped reads a stamp.
func stamped(s string) (sender, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 4 || kindOf[kind(parts[0])] == 0 || parts[1] == "" {
		return sender{}, fault.New("request/denied", "the request's sender is not known")
	}
	return sender{&loomv1.Identity{Kind: kindOf[kind(parts[0])], Name: parts[1]}, listOf(parts[2]), listOf(parts[3])}, nil
}

func listOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// identity is on whose behalf a request of u is done.
func (u user) identity() *loomv1.Identity {
	return &loomv1.Identity{Kind: kindOf[u.kind], Name: u.name}
}
