package web

import (
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/session"
)

const (
	// sessionPattern is the route of who is signed in.
	sessionPattern = "/api/v1/session"
	// signInPath is where a link leads.
	signInPath = "/sign-in"
)

// SignIn returns the address at which a link is exchanged for a session, on a server
// at base.
func SignIn(base, link string) string { return base + signInPath + "?link=" + link }

// cookieName has the port in it: a browser keeps one set of cookies for all ports of a
// name, and there may be several hosts.
func (s *Server) cookieName() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if s.config.TLS != nil {
		return "__Host-loom-" + port
	}
	return "loom-" + port
}

// cookie is the secret of the session that a request comes with, or "".
func (s *Server) cookie(r *http.Request) string {
	if s.config.Sessions == nil {
		return ""
	}
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

// signedIn is the caller whose cookie a request has. A browser sends cookies along with
// whatever any page asks of it, so it must say that a page of this very origin asked, or
// the person herself.
func (s *Server) signedIn(r *http.Request) (caller, error) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "same-origin" && (site != "none" || !safe(r.Method)) {
		return caller{}, fault.New("request/origin", "a session holds for pages of this host alone, and the browser says this is from elsewhere, or nothing").At("Sec-Fetch-Site").Got(site).
			Want("open it in a browser that is up to date; programs use a token: \"loom auth token create\"")
	}
	secret := s.cookie(r)
	return caller{check: func(scopes ...string) (string, error) {
		one, err := s.config.Sessions.Check(secret, scopes...)
		if one.Name == "" {
			return "", err
		}
		return "session-" + one.Name, err
	}}, nil
}

// signIn exchanges a link for a session, whose secret is in a cookie from then on, and
// goes on to an address without one.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case r.Method != http.MethodGet:
		s.problem(w, r, fault.New("request/method", "this route does not have that method").At("method").Got(r.Method).Want("GET"))
		return
	case site != "" && site != "none" && site != "same-origin":
		s.problem(w, r, fault.New("request/origin", "a page of another origin leads here").At("Sec-Fetch-Site").Got(site).Want("open the link by hand"))
		return
	case r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != "":
		s.problem(w, r, fault.New("request/origin", "a browser fetches this before anybody asked for it").At("Sec-Purpose"))
		return
	}
	one, secret, err := s.config.Sessions.Exchange(r.URL.Query().Get("link"), r.UserAgent())
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.setCookie(w, secret, int(one.Expires.Sub(one.Created)/time.Second))
	to := "/"
	if s.config.Page == nil {
		to = sessionPattern
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// setCookie has the browser keep a secret for some seconds, or forget it below 0.
func (s *Server) setCookie(w http.ResponseWriter, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.config.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// ofSession returns the session that a request is made with.
func (s *Server) ofSession(r *http.Request) (session.Session, error) {
	if secret := s.cookie(r); secret != "" && len(r.Header.Values("Authorization")) == 0 {
		return s.config.Sessions.Check(secret, session.Scopes()...)
	}
	return session.Session{}, fault.New("session/unknown", "this is not asked with a session, but with a token").At("Cookie")
}

// ofSessions are the routes that only a session has a use for. The description of the
// interface, which is for programs, does not have them.
func ofSessions() []route {
	return []route{
		{pattern: sessionPattern, scopes: session.Scopes(), serve: (*Server).session},
		{method: http.MethodPost, pattern: sessionPattern + "/end", scopes: session.Scopes(), serve: (*Server).signOut},
	}
}

// session says who is signed in.
func (s *Server) session(w http.ResponseWriter, r *http.Request, _ caller) {
	one, err := s.ofSession(r)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": one.Name, "scopes": one.Scopes, "browser": one.Browser, "created": one.Created, "expires": one.Expires})
}

// signOut ends the session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, _ caller) {
	_, _, err := posted(r)
	one, found := s.ofSession(r)
	if err == nil {
		err = found
	}
	if err == nil {
		err = s.config.Sessions.End(one.Name)
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.setCookie(w, "", -1)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}\n"))
}
