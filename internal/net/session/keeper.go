package session

import (
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// Keeper looks up the sessions of a data directory for a running host. It is safe for
// concurrent use. A change of the file counts from the next look on.
type Keeper struct {
	dir  string
	list privatefile.Watched[Session]
	now  func() time.Time
}

// NewKeeper returns the sessions of a data directory. It reads nothing yet.
func NewKeeper(dir string, now func() time.Time) *Keeper {
	return &Keeper{dir: dir, list: privatefile.Watched[Session]{List: file(dir)}, now: now}
}

// Check returns the session with this secret. It returns session/unknown when there is
// none, or no more, and session/scope when it has none of the scopes.
func (k *Keeper) Check(secret string, scopes ...string) (Session, error) {
	all, err := k.list.Current()
	if err != nil {
		return Session{}, err
	}
	i := find(all, secret)
	if i < 0 || all[i].Link || !k.now().Before(all[i].Expires) {
		return Session{}, fault.New("session/unknown", "nobody is signed in, or not any more").At("Cookie").Want("\"loom open\" on the host makes a link to sign in with")
	}
	s := all[i]
	if !slices.ContainsFunc(scopes, func(n string) bool { return slices.Contains(s.Scopes, n) }) {
		return s, fault.New("session/scope", "session %q has no scope %s", s.Name, strings.Join(scopes, " or ")).At("Cookie")
	}
	return s, nil
}

// Exchange makes a session of a link, for the browser that shows it, and returns it with
// its secret. It returns session/link for one that was exchanged before or has expired.
func (k *Keeper) Exchange(link, browser string) (Session, string, error) {
	return exchange(k.dir, link, browser, k.now())
}

// End ends a session.
func (k *Keeper) End(name string) error { return Revoke(k.dir, name) }
