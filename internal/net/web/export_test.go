package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// MaxUnsent is how many pieces wait for who listens.
const MaxUnsent = maxUnsent

// Routes lists every route as "METHOD PATTERN".
func Routes() (all []string) {
	for _, r := range routes() {
		all = append(all, r.verb()+" "+r.pattern)
	}
	return all
}

// RoutesText is the table of routes in the operator's guide.
func RoutesText() string {
	var b strings.Builder
	b.WriteString("| route | scope | |\n|---|---|---|\n")
	for _, r := range routes() {
		scopes, takes := "none", slices.Clone(r.params)
		if len(r.scopes) > 0 {
			scopes = "`" + strings.Join(r.scopes, "`, `") + "`"
		}
		what := r.summary
		if r.verb() == http.MethodPost && r.request != nil {
			what += fmt.Sprintf(": a `%s`", r.request.ProtoReflect().Descriptor().Name())
		}
		if len(takes) > 0 {
			what += "; `" + strings.Join(takes, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", r.verb(), r.pattern, scopes, what)
	}
	return b.String()
}

// Handler is what a server serves with.
func (s *Server) Handler() http.Handler { return s.http.Handler }
