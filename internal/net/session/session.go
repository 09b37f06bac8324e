// Package session keeps who has signed in with a browser: "loom open" makes a link
// that works once, a browser exchanges it for a secret that it keeps as a cookie.
//
// It promises that the data directory has the SHA-256 of links and secrets alone, in a
// file that only its owner can read; that a link is exchanged once, whoever else has
// seen it, and within minutes; that a session ends by itself, and one that was revoked
// is refused from the next look on. No session can approve: that takes a signature.
package session

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/net/secret"
)

// Limits of sessions.
const (
	// LinkLife is how long a link can be exchanged.
	LinkLife = 5 * time.Minute
	// Life is how long a session lasts unless it is told otherwise.
	Life = 12 * time.Hour
	// MaxLife is how long one lasts at most.
	MaxLife = 7 * 24 * time.Hour

	most        = 200 // a look goes over all of them
	mostBrowser = 120 // bytes of what a browser calls itself
)

// Session is what is kept of one: not the secret itself.
type Session struct {
	// Name tells sessions apart: eight letters and digits.
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	// Hash is the lower-case hex SHA-256 of the secret, or while it is a link of the
	// link's.
	Hash string `json:"sha256"`
	// Link says that no browser has come with it yet. It expires as a link does.
	Link bool `json:"link,omitempty"`
	// Life that the session will have, of a link.
	Life time.Duration `json:"life,omitempty"`
	// Browser is what the browser called itself.
	Browser string    `json:"browser,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Scopes lists what a session may be for. The list is closed.
func Scopes() []string { return []string{endpoint.Read, endpoint.Submit, endpoint.Operate} }

// file is where the sessions of a data directory are kept.
func file(dir string) privatefile.List[Session] {
	return privatefile.List[Session]{Dir: dir, Name: "sessions.json", Code: "session/file"}
}

// Invite makes a link for a session with these scopes and this life, 0 for [Life], and
// returns the link's secret, which is kept nowhere. It returns usage/argument for
// scopes or a life that cannot be, data/manifest when no host ever used the directory.
func Invite(dir string, scopes []string, life time.Duration, now time.Time) (string, error) {
	if err := endpoint.CheckScopes("session", scopes, Scopes()); err != nil {
		return "", err
	}
	if life == 0 {
		life = Life
	}
	if life < time.Minute || life > MaxLife {
		return "", fault.New("usage/argument", "a session lasts at least a minute and at most %d days", int(MaxLife.Hours()/24)).At("expires").Got(life.String())
	}
	link := secret.New()
	s := Session{
		Name: hex.EncodeToString(secret.Random(4)), Scopes: slices.Compact(slices.Sorted(slices.Values(scopes))), Hash: secret.Digest(link),
		Link: true, Life: life, Created: now.UTC().Truncate(time.Second), Expires: now.Add(LinkLife).UTC(),
	}
	return link, file(dir).Change(func(all []Session) ([]Session, error) {
		if all = living(all, now); len(all) >= most {
			return nil, fault.New("session/full", "there are %d sessions already, the most there can be", most).Want("revoke some: loom auth session list")
		}
		return append(all, s), nil
	})
}

// exchange makes a session of a link, which is worth nothing afterwards, and returns it
// with its secret.
func exchange(dir, link, browser string, now time.Time) (s Session, cookie string, err error) {
	cookie = secret.New()
	err = file(dir).Change(func(all []Session) ([]Session, error) {
		all = living(all, now)
		i := find(all, link)
		if i < 0 || !all[i].Link {
			return nil, fault.New("session/link", "the link has been used, or is too old").Want("\"loom open\" makes another")
		}
		one := &all[i]
		one.Hash, one.Link, one.Browser, one.Created = secret.Digest(cookie), false, named(browser), now.UTC().Truncate(time.Second)
		one.Expires, one.Life = one.Created.Add(one.Life), 0
		s = *one
		return all, nil
	})
	return s, cookie, err
}

// List returns the sessions of a data directory that have not expired, links among them,
// oldest first.
func List(dir string, now time.Time) ([]Session, error) {
	all, _, err := file(dir).Load()
	return living(all, now), err
}

// Revoke ends a session, or returns session/unknown.
func Revoke(dir, name string) error {
	return file(dir).Change(func(all []Session) ([]Session, error) {
		i := slices.IndexFunc(all, func(s Session) bool { return s.Name == name })
		if i < 0 {
			var names []string
			for _, s := range all {
				names = append(names, s.Name)
			}
			return nil, fault.New("session/unknown", "there is no session of that name").At("name").Got(name).Want("%s", suggest.Among(name, names))
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// living leaves out what has expired.
func living(all []Session, now time.Time) []Session {
	return slices.DeleteFunc(slices.Clone(all), func(s Session) bool { return !now.Before(s.Expires) })
}

// find returns the place of the session or link with this secret, or -1.
func find(all []Session, shown string) int {
	return secret.Find(all, func(s Session) string { return s.Hash }, shown)
}

// named is what a browser calls itself, for people to read.
func named(browser string) string {
	browser = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, browser)
	return browser[:min(len(browser), mostBrowser)]
}
