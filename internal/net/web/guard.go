package web

import (
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// handler is what every request goes through.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, list := range byPattern(routes()) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, list) })
	}
	s.pages(mux)
	mux.HandleFunc("/", s.unknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &statusWriter{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("a request broke down", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				if seen.status == 0 {
					s.problem(seen, r, fault.New("internal/error", "something went wrong inside; the host's log says what"))
				}
			}
			s.config.Meters.served(r, seen.status, time.Since(began))
		}()
		secure(seen.Header())
		if s.config.TLS != nil {
			seen.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		if err := s.admit(r); err != nil {
			s.problem(seen, r, err)
			return
		}
		if path.Clean(r.URL.Path) != r.URL.Path || r.URL.Path == "*" { // the router has answers of its own to these
			s.unknown(seen, r)
			return
		}
		r.Body = http.MaxBytesReader(seen, r.Body, maxBody)
		mux.ServeHTTP(seen, r)
	})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	var known []string
	for _, one := range routes() {
		known = append(known, one.pattern)
	}
	hint := "/api/v1/openapi.json lists them"
	if near := suggest.Nearest(r.URL.Path, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	s.problem(w, r, fault.New("request/unknown", "there is no such route").At("path").Got(r.URL.Path).Want("%s", hint))
}

// secure sets what browsers heed, whatever the answer is.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// crossing refuses what a page of another origin sends.
var crossing = http.NewCrossOriginProtection()

// admit refuses a request by what it says of itself.
func (s *Server) admit(r *http.Request) error {
	if !slices.Contains(s.hosts, strings.ToLower(r.Host)) {
		return fault.New("request/host", "request is for another host").At("Host").Got(r.Host).Want("%s", s.hosts[0])
	}
	if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, s.scheme()+r.Host) && !safe(r.Method) {
		return fault.New("request/origin", "request comes from a page of another origin").At("Origin").Got(origin)
	}
	if err := crossing.Check(r); err != nil {
		return fault.New("request/origin", "request comes from a page of another origin").At("Sec-Fetch-Site").Got(r.Header.Get("Sec-Fetch-Site"))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New("request/media-type", "body is encoded").At("Content-Encoding").Got(coding).Want("a body as it is")
	}
	return nil
}

// safe says whether a method changes nothing.
func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// caller is who makes a request.
type caller struct {
	name  string // "token-NAME" or "session-NAME", or empty for anybody
	quota *quota
	// check returns the name again while one of the scopes holds.
	check func(scopes ...string) (string, error)
}

// identify returns whose token a request carries, or who has signed in with the
// browser that sends it, when there is one of the scopes and not too much was asked.
func (s *Server) identify(r *http.Request, scopes []string) (caller, error) {
	if len(scopes) == 0 {
		return caller{}, nil
	}
	c, each, err := s.shown(r)
	if err != nil {
		return caller{}, err
	}
	if c.name, err = c.check(scopes...); c.name == "" {
		return caller{}, err
	}
	if c.quota = s.callers.of(c.name, each); !c.quota.rate.AllowN(s.config.Now(), 1) {
		return caller{}, fault.New("request/too-many", "%s may ask %d times a second", c.name, each)
	}
	return c, err
}

// shown is what a request shows to say who makes it, a token before a cookie, and how
// often whoever it is may ask in a second.
func (s *Server) shown(r *http.Request) (c caller, each int, err error) {
	if len(r.Header.Values("Authorization")) == 0 && s.cookie(r) != "" {
		c, err = s.signedIn(r)
		return c, perSecondPage, err
	}
	secret, err := bearer(r)
	if err != nil {
		return caller{}, 0, err
	}
	c.check = func(scopes ...string) (string, error) {
		name, err := s.config.Keys.Check(secret, scopes...)
		if name != "" {
			name = "token-" + name
		}
		return name, err
	}
	return c, perSecond, nil
}

func bearer(r *http.Request) (string, error) {
	all := r.Header.Values("Authorization")
	if len(all) == 0 {
		return "", fault.New("token/unknown", "this needs a token").At("Authorization").Want("\"loom auth token create\" makes one; send it as \"Bearer TOKEN\"")
	}
	scheme, secret, ok := strings.Cut(all[0], " ")
	if len(all) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", fault.New("token/unknown", "not a bearer token").At("Authorization").Want("\"Bearer TOKEN\"")
	}
	return secret, nil
}

// callers are the limits of each token and session that was seen.
type callers struct {
	mu  sync.Mutex
	all map[string]*quota
}

// quota is what a token or a session may use now.
type quota struct {
	rate    *rate.Limiter
	streams chan struct{} // one in it for each open stream
}

// of returns the quota of a token or session that may ask so often in a second. There
// are as many as were seen since the start.
func (c *callers) of(name string, each int) *quota {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.all[name]
	if q == nil {
		if c.all == nil {
			c.all = map[string]*quota{}
		}
		q = &quota{rate: rate.NewLimiter(rate.Limit(each), each), streams: make(chan struct{}, maxStreams)}
		c.all[name] = q
	}
	return q
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController through.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func tooLarge(limit int64) *fault.Error {
	return fault.New("request/too-large", "body has more than %s bytes", strconv.FormatInt(limit, 10)).At("body")
}
