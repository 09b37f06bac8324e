package host_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func register(t *testing.T, c *client.Client, p *loomv1.ProjectConfig) (*loomv1.RegisterReply, error) {
	t.Helper()
	return c.Register(t.Context(), &loomv1.RegisterRequest{Change: &loomv1.RegisterRequest_Add{Add: p}})
}

func remove(t *testing.T, c *client.Client, id string) error {
	t.Helper()
	_, err := c.Register(t.Context(), &loomv1.RegisterRequest{Change: &loomv1.RegisterRequest_Remove{Remove: id}, Reason: "sold"})
	return err
}

func listed(t *testing.T, c *client.Client, id string) *loomv1.ProjectConfig {
	t.Helper()
	v, err := c.Project(t.Context(), &loomv1.Query{Filter: "all"})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(v.Projects, func(p *loomv1.ProjectConfig) bool { return p.Id == id })
	if i < 0 {
		return nil
	}
	return v.Projects[i]
}

func created(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	if err := git.Create(t.Context(), path, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// What operators add is as they said, also after starts that remember something else,
// until a command line names the project again; what they remove stays removed the same
// way.
func TestCLI01_WhatOperatorsAddAndRemoveOutlivesStarts(t *testing.T) {
	c := config(t, model.None{})
	ops := func(h *host.Host) *client.Client { return connect(t, h, "operator") }
	h := start(t, c)
	cl := ops(h)
	shop := &loomv1.ProjectConfig{Id: "shop", Repository: c.Projects[0].Repository, Checks: []string{"go vet ./..."}}
	r, err := register(t, cl, shop)
	if err != nil || r.Anew || !slices.Equal(r.Changed, []string{"checks"}) {
		t.Fatalf("a check for what is there: %v, %v", r, err)
	}
	store := &loomv1.ProjectConfig{Id: "store", Repository: created(t)}
	if r, err = register(t, cl, store); err != nil || !r.Anew || r.Project.TargetBranch != "main" {
		t.Fatalf("a new one: %v, %v", r, err)
	}
	if r, err = register(t, cl, store); err != nil || r.Anew || len(r.Changed) > 0 {
		t.Errorf("the same again: %v, %v", r, err)
	}
	if err := remove(t, cl, "store"); err != nil {
		t.Fatal(err)
	}
	again := func(standing bool) *client.Client {
		h.Stop(t.Context())
		next := c
		next.Projects = []host.Project{c.Projects[0], {ID: "store", Repository: store.Repository}}
		for i := range next.Projects {
			next.Projects[i].Standing = standing
		}
		h = start(t, next)
		return ops(h)
	}
	cl = again(true)
	if p := listed(t, cl, "shop"); len(p.GetChecks()) != 1 {
		t.Errorf("a start that remembers it otherwise has %v", p)
	}
	if p := listed(t, cl, "store"); p.GetRemoved() == nil {
		t.Errorf("a start that remembers it has what was removed: %v", p)
	}
	if left, removed := h.LeftAsItWas("store"); !left || !removed {
		t.Error("the start does not say what it has left")
	}
	moved := created(t)
	if _, err := register(t, cl, &loomv1.ProjectConfig{Id: "shop", Repository: moved}); err != nil {
		t.Fatal(err)
	}
	h.Stop(t.Context())
	next := c // which says something of both, and not where they are
	next.Projects = []host.Project{c.Projects[0], {ID: "store", Repository: store.Repository}}
	for i := range next.Projects {
		next.Projects[i].Kept, next.Projects[i].Checks = true, []string{"go build ./..."}
	}
	h = start(t, next)
	cl = ops(h)
	if p := listed(t, cl, "shop"); p.GetRepository() != moved || !slices.Equal(p.GetChecks(), []string{"go build ./..."}) {
		t.Errorf("a start that says something of it moves it: %v", p)
	}
	if p := listed(t, cl, "store"); p.GetRemoved() == nil {
		t.Errorf("a start that says something of it has what was removed: %v", p)
	}
	cl = again(false)
	if p := listed(t, cl, "shop"); len(p.GetChecks()) != 0 {
		t.Errorf("a start that names it has %v", p)
	}
	if p := listed(t, cl, "store"); p == nil || p.Removed != nil {
		t.Errorf("a start that names it has %v", p)
	}
}

// What whoever starts the host says nobody else does, and it stays as it is; what is
// wrong changes nothing.
func TestCLI01_WhatTheHostOpensNoOperatorDoes(t *testing.T) {
	c := config(t, model.None{})
	c.Projects[0].OperatorsAnswer = []string{"none"}
	cl := connect(t, start(t, c), "operator")
	before := listed(t, cl, "shop")
	for _, tt := range []struct {
		name, code string
		edit       func(*loomv1.ProjectConfig)
	}{
		{"what operators answer", "request/denied", func(p *loomv1.ProjectConfig) { p.OperatorsAnswer = []string{"permissions"} }},
		{"what the setup reaches", "request/denied", func(p *loomv1.ProjectConfig) { p.SetupRegistries = []string{"example.com"} }},
		{"an address", "request/denied", func(p *loomv1.ProjectConfig) { p.Remote = "ssh://example.com/shop" }},
		{"a path as remote", "request/denied", func(p *loomv1.ProjectConfig) { p.Remote = "../other" }},
		{"a relative path", "project/invalid", func(p *loomv1.ProjectConfig) { p.Repository = "shop" }},
		{"no repository", "git/not-a-repository", func(p *loomv1.ProjectConfig) { p.Repository = "/" }},
		{"Loom's own", "project/invalid", func(p *loomv1.ProjectConfig) { p.Id = "system" }},
		{"no name", "id/malformed", func(p *loomv1.ProjectConfig) { p.Id = "" }},
		{"another's repository", "project/conflict", func(p *loomv1.ProjectConfig) { p.Id = "second" }},
		{"a process that is none", "id/malformed", func(p *loomv1.ProjectConfig) { p.Processes = []*loomv1.ProcessRule{{Process: "no such one"}} }},
	} {
		p := &loomv1.ProjectConfig{Id: "shop", Repository: before.Repository}
		tt.edit(p)
		if _, err := register(t, cl, p); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
	if after := listed(t, cl, "shop"); !proto.Equal(before, after) {
		t.Errorf("what was refused has changed %v to %v", before, after)
	}
	if _, err := register(t, cl, &loomv1.ProjectConfig{Id: "shop", Repository: before.Repository, Checks: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	if after := listed(t, cl, "shop"); !slices.Equal(after.OperatorsAnswer, []string{"none"}) {
		t.Errorf("what operators may answer is now %v", after.OperatorsAnswer)
	}
	if err := remove(t, cl, "nowhere"); fault.Code(err) != "project/unknown" {
		t.Errorf("removing what is not there: %v", err)
	}
	stranger := connect(t, start(t, config(t, model.None{})), "anonymous")
	if _, err := register(t, stranger, &loomv1.ProjectConfig{Id: "mine", Repository: "/"}); fault.Code(err) != "request/denied" {
		t.Errorf("without credentials: %v, want request/denied", err)
	}
}
