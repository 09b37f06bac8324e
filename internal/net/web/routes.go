package web

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Scopes of tokens, as package token has them.
const (
	read    = "read"
	submit  = "submit"
	operate = "operate"
	audit   = "audit"
)

// route is one thing that can be asked.
type route struct {
	method, pattern string
	summary         string
	scopes          []string // a token needs one of them; none needs no token
	service         string   // that answers
	request, reply  proto.Message
	id              string   // field of the request that the pattern's {id} fills
	params          []string // fields of the request that the query may fill
	serve           func(s *Server, w http.ResponseWriter, r *http.Request, c caller)
}

// Fields of a Query that lists of views take.
var (
	listed     = []string{"project", "limit", "after"}
	ofBeads    = slices.Concat(listed, []string{"filter", "text", "labels", "type", "process", "parent", "assignee"})
	ofNotices  = []string{"after", "project", "bead", "execution", "kinds", "since"}
	ofMetrics  = []string{"project", "process", "from", "to"}
	ofNode     = []string{"at", "time", "number"}
	oneProject = []string{"project"}
)

// routes are all there are: the handler, the description of the interface and
// its documentation come from here.
func routes() []route {
	all := []route{
		{pattern: "/healthz", summary: "whether the process lives", serve: (*Server).health},
		{pattern: "/readyz", summary: "whether the host can work, and what keeps it from that", serve: (*Server).readiness},
		{pattern: "/metrics", summary: "figures for Prometheus", scopes: []string{read}, serve: (*Server).metrics},
		{pattern: "/api/v1/openapi.json", summary: "this description", serve: (*Server).openapi},
		{pattern: "/api/v1/host", summary: "the host, its projects and agents", scopes: []string{read}, service: "host", request: &loomv1.HostRequest{}, reply: &loomv1.HostReply{}},
		{
			method: http.MethodPost, pattern: "/mcp", summary: "the Model Context Protocol over streamable HTTP, one request at a time",
			scopes: []string{read, submit, operate}, serve: (*Server).protocol,
		},
		{
			pattern: "/api/v1/metrics/workflows", summary: "how workflows fare, beside their targets", scopes: []string{read},
			service: "metrics", request: &loomv1.MetricsRequest{}, reply: &loomv1.MetricsReply{}, params: ofMetrics,
		},
		{
			pattern: "/api/v1/cost", summary: "what model calls have cost, and how attempts fared", scopes: []string{read},
			service: "cost", request: &loomv1.CostRequest{}, reply: &loomv1.CostReply{}, params: []string{"by", "project", "from", "to"},
		},
		{
			pattern: "/api/v1/notices", summary: "a page of what happened, after a cursor", scopes: []string{read, audit},
			service: "notices", request: &loomv1.NoticesRequest{}, reply: &loomv1.NoticesReply{}, params: append(slices.Clone(ofNotices), "limit"),
		},
		{
			pattern: eventsPattern, summary: "what happens, as server-sent events; each one's id is the cursor to go on from", scopes: []string{read, audit},
			request: &loomv1.NoticesRequest{}, reply: &loomv1.Notice{}, params: ofNotices, serve: (*Server).events,
		},
		{
			pattern: "/api/v1/executions/{id}/history", summary: "transitions of an execution", scopes: []string{read},
			service: "history", request: &loomv1.HistoryRequest{}, reply: &loomv1.HistoryReply{}, id: "execution",
		},
		{
			pattern: "/api/v1/executions/{id}/state", summary: "an execution as of a moment", scopes: []string{read},
			service: "state", request: &loomv1.StateRequest{}, reply: &loomv1.StateReply{}, id: "execution", params: ofNode,
		},
		{
			method: http.MethodPost, pattern: "/api/v1/submissions", summary: "file a bead", scopes: []string{submit},
			service: "submit", request: &loomv1.Submission{}, reply: &loomv1.SubmitReply{},
		},
		{
			method: http.MethodPost, pattern: "/api/v1/reports", summary: "report an error", scopes: []string{submit},
			service: "report", request: &loomv1.ErrorReport{}, reply: &loomv1.SubmitReply{},
		},
		{
			method: http.MethodPost, pattern: "/api/v1/updates", summary: "change, close or reopen a bead", scopes: []string{operate},
			service: "update", request: &loomv1.BeadRequest{}, reply: &loomv1.SubmitReply{},
		},
		{
			method: http.MethodPost, pattern: "/api/v1/graph/ask", summary: "ask the decision graph", scopes: []string{read},
			service: "ask", request: &loomv1.GraphRequest{}, reply: &loomv1.GraphReply{},
		},
		{
			method: http.MethodPost, pattern: "/api/v1/graph/decide", summary: "add, link, supersede or abandon a decision, open a vote on it, or vote", scopes: []string{operate},
			service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{},
		},
		ballots("/api/v1/ballots", "list votes", ""), ballots("/api/v1/ballots/{id}", "the vote on a decision", "id"),
		{
			method: http.MethodPost, pattern: "/api/v1/forks", summary: "fork an execution", scopes: []string{operate},
			service: "fork", request: &loomv1.ForkRequest{}, reply: &loomv1.SubmitReply{},
		},
		{
			method: http.MethodPost, pattern: "/api/v1/messages", summary: "say something to who works on an execution", scopes: []string{operate},
			service: "say", request: &loomv1.SayRequest{}, reply: &loomv1.SubmitReply{},
		},
	}
	return slices.Concat(all,
		view("beads", "bead", "beads", ofBeads),
		view("executions", "execution", "executions", slices.Concat(listed, []string{"filter", "process"})),
		view("inbox", "inbox", "approvals", slices.Concat(listed, []string{"filter"})),
		view("graphs", "graph", "the decision graph, or the part about one bead or execution", slices.Concat(oneProject, []string{"filter"})),
		view("locks", "lock", "commit locks", oneProject),
		view("projects", "project", "registered projects", nil),
		view("workflows", "workflow", "definitions", slices.Concat(listed, []string{"filter"})),
		view("pauses", "pause", "pauses in force", oneProject),
		view("permissions", "permission", "what agents may do, and ask about", oneProject))
}

// ballots asks the decision graph for its votes, or for one.
func ballots(pattern, summary, id string) route {
	return route{
		pattern: pattern, summary: summary, scopes: []string{read}, service: "ask", id: id, params: []string{"project", "limit", "at_least"},
		request: &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS}, reply: &loomv1.GraphReply{},
	}
}

// view is the list of a view and, where there is such a thing, one of it.
func view(path, service, what string, params []string) []route {
	list := route{
		pattern: "/api/v1/" + path, summary: "list " + what, scopes: []string{read},
		service: service, request: &loomv1.Query{}, reply: &loomv1.View{}, params: params,
	}
	one := list
	one.pattern, one.summary, one.id, one.params = list.pattern+"/{id}", "one of "+what, "id", oneProject
	switch service {
	case "lock", "project", "pause", "permission":
		return []route{list}
	}
	return []route{list, one}
}

func (r route) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
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
	_ = http.NewResponseController(w).SetWriteDeadline(deadline(answerWithin))
	if one.serve != nil {
		one.serve(s, w, r, c)
		return
	}
	reply, err := s.ask(r, one, c)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.write(w, reply)
}

func (s *Server) write(w http.ResponseWriter, reply proto.Message) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(marshal(reply), '\n'))
}
