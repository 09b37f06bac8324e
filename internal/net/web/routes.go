package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// route is one thing that can be asked.
type route struct {
	method, pattern string
	summary         string
	scopes          []string // a token or session needs one of them; none needs neither
	service         string   // that answers
	slow            bool     // it may read a journal
	request, reply  proto.Message
	id              string   // field of the request that the pattern's {id} fills
	params          []string // fields of the request that the query may fill
	body            string   // field of the reply that is the body; none for all of it as JSON
	media           string   // field of the reply that says what kind of document the body is
	page            bool     // a browser may show the body
	serve           func(s *Server, w http.ResponseWriter, r *http.Request, c caller)
}

// routes are all there are: the handler, the description of the interface and
// its documentation come from here. Those of services come from the contract.
func routes() []route {
	all := []route{
		{pattern: "/healthz", summary: "whether the process lives", serve: (*Server).health},
		{pattern: "/readyz", summary: "whether the host can work, and what keeps it from that", serve: (*Server).readiness},
		{pattern: "/metrics", summary: "figures for Prometheus", scopes: []string{endpoint.Read}, serve: (*Server).metrics},
		{pattern: "/api/v1/openapi.json", summary: "this description", serve: (*Server).openapi},
		{
			method: http.MethodPost, pattern: "/mcp", summary: "the Model Context Protocol over streamable HTTP, one request at a time",
			scopes: []string{endpoint.Read, endpoint.Submit, endpoint.Operate}, serve: (*Server).protocol,
		},
		{
			pattern: eventsPattern, summary: "what happens, as server-sent events; each one's id is the cursor to go on from",
			scopes: endpoint.Of("notices").Scopes, request: &loomv1.NoticesRequest{}, reply: &loomv1.Notice{},
			params: []string{"after", "project", "bead", "execution", "team", "role", "agent", "host", "kinds", "since"}, serve: (*Server).events,
		},
		{
			pattern: livePattern, summary: "what models write just now, as server-sent events; stored nowhere", scopes: endpoint.Of("transcript").Scopes,
			request: &loomv1.LiveRequest{}, reply: &loomv1.Writing{}, params: []string{"project", "bead", "role", "agent"}, serve: (*Server).live,
		},
	}
	for _, e := range endpoint.All() {
		for _, r := range e.Routes {
			all = append(all, offered(e, r))
		}
	}
	return all
}

// offered is a route of a service.
func offered(e *endpoint.Endpoint, r endpoint.Route) route {
	one := route{
		pattern: "/api/v1/" + r.Path, summary: r.Summary, scopes: e.Scopes, service: e.Name, slow: e.Slow,
		request: e.Request.ProtoReflect().New().Interface(), reply: e.Reply, id: r.ID, params: r.Params, body: r.Body, media: r.Media, page: r.Page,
	}
	if r.Post {
		one.method = http.MethodPost
	}
	values, err := url.ParseQuery(r.With)
	for name, list := range values {
		err = errors.Join(err, fill(one.request.ProtoReflect(), name, list))
	}
	if err != nil {
		panic(fmt.Sprintf("web: route %s: %v", r.Path, err)) // the contract is wrong
	}
	return one
}

func (r route) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// within bounds the answer.
func (r route) within() time.Duration {
	if r.slow {
		return slowWithin
	}
	return answerWithin
}

// byPattern gathers the routes of a path: the router is to answer a wrong
// method as everything else is answered.
func byPattern(all []route) map[string][]route {
	m := map[string][]route{}
	for _, r := range all {
		m[r.pattern] = append(m[r.pattern], r)
	}
	return m
}

// dispatch serves the one of a path's routes that has the method.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, list []route) {
	var allowed []string
	for _, one := range list {
		if one.verb() == r.Method || one.verb() == http.MethodGet && r.Method == http.MethodHead {
			s.serve(w, r, one)
			return
		}
		allowed = append(allowed, one.verb())
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.problem(w, r, fault.New("request/method", "this route does not have that method").At("method").Got(r.Method).Want("%s", strings.Join(allowed, ", ")))
}

// serve checks who asks, and what with, and answers.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, one route) {
	c, err := s.identify(r, one.scopes)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(deadline(one.within()))
	if one.serve != nil {
		one.serve(s, w, r, c)
		return
	}
	if one.body != "" {
		s.bytes(w, r, one, c)
		return
	}
	reply, err := s.ask(r, one, c)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.write(w, r, reply)
}

// write answers, or says that whoever asks has the answer already: an answer to a
// question has a tag that is made of it, the same on every host.
func (s *Server) write(w http.ResponseWriter, r *http.Request, reply proto.Message) {
	text := append(marshal(reply), '\n')
	h := w.Header()
	if r.Method != http.MethodPost {
		sum := sha256.Sum256(text)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if slices.Contains(strings.FieldsFunc(r.Header.Get("If-None-Match"), func(c rune) bool { return c == ',' || c == ' ' }), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
