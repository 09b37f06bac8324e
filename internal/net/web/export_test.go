package web

import "net/http"

// Routes lists every route as "METHOD PATTERN".
func Routes() (all []string) {
	for _, r := range routes() {
		all = append(all, r.verb()+" "+r.pattern)
	}
	return all
}

// Handler is what a server serves with.
func (s *Server) Handler() http.Handler { return s.http.Handler }
