// Package token keeps the bearer tokens of the HTTP interface in a data
// directory: who may read, submit, operate or audit, and until when.
//
// It promises that a token is stored as its SHA-256 alone, in a file that only
// its owner can read; that looking one up takes the same time whether or not
// there is one like it; and that one that was revoked or has expired is refused
// from the next look on. No token can approve: that takes the CEO's signature.
package token

import (
	"cmp"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/net/secret"
	"github.com/loomrun/loom/proto/subject"
)

// Scopes lists what a token may be for. The list is closed.
func Scopes() []string {
	return []string{endpoint.Read, endpoint.Submit, endpoint.Operate, endpoint.Audit}
}

// MaxLife is how long a token lasts at most, and unless it is told otherwise.
const MaxLife = 90 * 24 * time.Hour

// maxTokens bounds the file: a look goes over all of them.
const maxTokens = 1000

// prefix tells people and scanners what a secret is.
const prefix = "loom_"

// Token is what is kept of one: not the secret itself.
type Token struct {
	// Name is a token of at most 64 bytes, unique in the data directory.
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	// Hash is the lower-case hex SHA-256 of the secret.
	Hash    string    `json:"sha256"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Create adds a token to the data directory and returns its secret, which is
// kept nowhere. A life of 0 means MaxLife. It returns id/malformed for a name
// that is none, token/exists for one that is taken, usage/argument for scopes
// or a life that cannot be, data/manifest when no host ever used the directory.
func Create(dir, name string, scopes []string, life time.Duration, now time.Time) (Token, string, error) {
	t, err := fresh(name, scopes, life, now)
	if err != nil {
		return Token{}, "", err
	}
	shown := prefix + secret.New()
	t.Hash = secret.Digest(shown)
	err = list(dir).Change(func(all []Token) ([]Token, error) {
		if i := index(all, name); i >= 0 {
			return nil, fault.New("token/exists", "there is a token of that name already").At("name").Got(name).Want("revoke it first, or choose another name")
		}
		if len(all) == maxTokens {
			return nil, fault.New("token/exists", "there are %d tokens already, the most there can be", maxTokens)
		}
		all = append(all, t)
		slices.SortFunc(all, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
		return all, nil
	})
	return t, shown, err
}

func fresh(name string, scopes []string, life time.Duration, now time.Time) (Token, error) {
	if _, err := subject.Parse("name", name); err != nil {
		return Token{}, err
	}
	if err := endpoint.CheckScopes("token", scopes, Scopes()); err != nil {
		return Token{}, err
	}
	if life == 0 {
		life = MaxLife
	}
	if life < time.Second || life > MaxLife {
		return Token{}, fault.New("usage/argument", "a token lasts at least a second and at most %d days", int(MaxLife.Hours()/24)).At("expires").Got(life.String())
	}
	scopes = slices.Compact(slices.Sorted(slices.Values(scopes)))
	return Token{Name: name, Scopes: scopes, Created: now.UTC().Truncate(time.Second), Expires: now.Add(life).UTC().Truncate(time.Second)}, nil
}

// Revoke takes a token away, or returns token/unknown.
func Revoke(dir, name string) error {
	return list(dir).Change(func(all []Token) ([]Token, error) {
		i := index(all, name)
		if i < 0 {
			var names []string
			for _, t := range all {
				names = append(names, t.Name)
			}
			return nil, fault.New("token/unknown", "there is no token of that name").At("name").Got(name).Want("%s", suggest.Among(name, names))
		}
		return slices.Delete(all, i, i+1), nil
	})
}

func index(all []Token, name string) int {
	return slices.IndexFunc(all, func(t Token) bool { return t.Name == name })
}
