package token

import (
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/net/secret"
)

// Keys looks up the tokens of a data directory for a running host. It is safe
// for concurrent use. A change of the file counts from the next look on.
type Keys struct {
	list privatefile.Watched[Token]
	now  func() time.Time
}

// NewKeys returns the tokens of a data directory. It reads nothing yet.
func NewKeys(dir string, now func() time.Time) *Keys {
	return &Keys{list: privatefile.Watched[Token]{List: list(dir)}, now: now}
}

// Check returns the name of the token with this secret. It returns
// token/unknown when there is none, or no more, and token/scope when it has
// none of the scopes.
func (k *Keys) Check(shown string, scopes ...string) (string, error) {
	all, err := k.list.Current()
	if err != nil {
		return "", err
	}
	i := secret.Find(all, func(t Token) string { return t.Hash }, shown)
	if i < 0 {
		return "", fault.New("token/unknown", "no such token").At("Authorization").Want("\"loom auth token create\" makes one; send it as \"Bearer TOKEN\"")
	}
	switch t := all[i]; {
	case !k.now().Before(t.Expires):
		return "", fault.New("token/unknown", "token %q expired at %s", t.Name, t.Expires.Format(time.RFC3339)).At("Authorization")
	case !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(t.Scopes, s) }):
		return t.Name, fault.New("token/scope", "token %q has no scope %s", t.Name, strings.Join(scopes, " or ")).At("Authorization")
	}
	return all[i].Name, nil
}
