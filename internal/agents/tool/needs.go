package tool

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Unusable are the tools in allow that this set has but cannot carry out, in a
// fixed order: one that needs a sandbox, a work tree, a source or a program that
// is not there. To offer one would have a model find that out by calling it.
func (s *Set) Unusable(allow []string) (names []string) {
	for _, t := range slices.Concat(catalogue(), s.foreign) {
		if Allows(allow, t.Name) && s.lacks(t) != nil {
			names = append(names, t.Name)
		}
	}
	return names
}

// lacks says what a tool needs and the set does not have.
func (s *Set) lacks(t *tool) *fault.Error {
	if t.needs == nil {
		return nil
	}
	return t.needs(s)
}

// sandboxed is the need of what starts programs, which are named in the refusal.
func sandboxed(programs string) func(*Set) *fault.Error {
	return func(s *Set) *fault.Error {
		if s.ws.Exec.Contain != nil || s.ws.Exec.Allow {
			return nil
		}
		return fault.New("tool/no-sandbox", "%s do not run here: there is no sandbox for them", programs).
			Want("do without; the operator may allow %s to run unsandboxed", programs)
	}
}

// served is the need of lsp_diagnostics: a sandbox and a server to run in it.
func served(s *Set) *fault.Error {
	if err := sandboxed("language servers")(s); err != nil {
		return err
	}
	for _, server := range s.servers() {
		if _, err := exec.LookPath(server.Command[0]); err == nil {
			return nil
		}
	}
	return fault.New("tool/no-server", "no language server is installed on this host").
		Want("do without; `loom doctor` tells the operator which ones there are")
}

// NotSetUp says, by name, what the tools of the program lack that a host gives to the
// tools of every workspace: a sandbox, programs, sources. How an operator sets a tool up
// is the refusal's hint. What a single workspace has or not (a repository, a graph) does
// not count.
func NotSetUp(ws Workspace) map[string]*fault.Error {
	s, lacking := New(ws, nil), map[string]*fault.Error{}
	for _, t := range catalogue() {
		switch e := s.lacks(t); {
		case e == nil || e.Code == "tool/failed":
		case t.setUp != "":
			lacking[t.Name] = fault.New(e.Code, "%s", e.Message).Want("%s", t.setUp)
		default:
			lacking[t.Name] = fault.New(e.Code, "%s", e.Message).Want("`loom doctor` says what is missing")
		}
	}
	return lacking
}

func tracked(s *Set) *fault.Error {
	if s.ws.GitDir != "" {
		return nil
	}
	return fault.New("tool/failed", "this workspace is no git work tree")
}

func graphed(s *Set) *fault.Error {
	if s.decisions != nil {
		return nil
	}
	return fault.New("tool/failed", "there is no decision graph here")
}

// source is something outside that a tool asks: how an operator sets it up, in an
// imperative, and whether that was done.
type source struct {
	setUp string
	is    func(Sources) bool
}

// asking makes a tool out of a spec that asks a source.
func asking(src source, spec Spec, run func(context.Context, *Set, *loomv1.ToolCall) Result) *tool {
	return &tool{Spec: spec, setUp: src.setUp, run: reading(spec.Name, run), needs: func(s *Set) *fault.Error {
		if src.is(s.sources()) {
			return nil
		}
		return fault.New("source/credentials", "%s is not set up on this host", spec.Name).
			Want("an operator can: %s; go on without it and say so", src.setUp)
	}}
}

// mostRead bounds what a call is recorded to have read.
const mostRead = 16

// reading has a tool's result tell what was fetched for it. The list of a search engine
// is no source: what it names was not read.
func reading(name string, run func(context.Context, *Set, *loomv1.ToolCall) Result) func(context.Context, *Set, *loomv1.ToolCall) Result {
	if name == "web_search" {
		return run
	}
	return func(ctx context.Context, s *Set, call *loomv1.ToolCall) Result {
		var mu sync.Mutex
		var list []Read
		r := run(fetch.Watched(ctx, func(address string, p *fetch.Page) {
			mu.Lock()
			defer mu.Unlock()
			if len(list) < mostRead {
				list = append(list, readOf(ctx, address, p))
			}
		}), s, call)
		mu.Lock()
		defer mu.Unlock()
		r.Read = list
		return r
	}
}

func readOf(ctx context.Context, address string, p *fetch.Page) Read {
	r := Read{Address: address, MediaType: p.Type, Body: p.Body}
	title, text, err := wordsOf(ctx, p)
	if err == nil && text != string(p.Body) {
		r.Text = text
	}
	r.Title = cutEnd(strings.Join(strings.Fields(plain(title)), " "), MaxSummary)
	return r
}

func keeping(s *Set) *fault.Error {
	if s.ws.Outputs != nil {
		return nil
	}
	return fault.New("tool/failed", "no results are kept here")
}
