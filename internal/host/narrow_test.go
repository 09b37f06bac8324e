package host_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// two is a host with two projects that listens, and a client for each identity.
func two(t *testing.T, requests ...identity.Request) map[string]*client.Client {
	t.Helper()
	c := config(t, scripted.New("nothing", nothing))
	c.Listen = "127.0.0.1:0"
	c.Agents = map[string]int{}
	other := filepath.Join(t.TempDir(), "other")
	if err := git.Create(t.Context(), other, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	c.Projects = append(c.Projects, host.Project{ID: "other", Repository: other})
	dir, err := datadir.Open(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]identity.Credentials{}
	for _, r := range requests { // before the start, so that the host knows them
		u, s, err := identity.Add(t.Context(), identity.NewFile(c.Data), r, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		secrets[u.Name] = identity.Credentials{Name: u.Name, Kind: u.Kind, Secrets: s}
	}
	h := start(t, c)
	clients := map[string]*client.Client{}
	for name, s := range secrets {
		nc, err := broker.DialAs(s, h.URL(), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		clients[name] = client.New(nc)
	}
	return clients
}

func TestSEC01_NarrowedToItsProjects(t *testing.T) {
	all := two(
		t,
		identity.Request{Name: "ci", Kind: identity.Publisher, Projects: []string{"shop"}},
		identity.Request{Name: "eve", Kind: identity.Observer, Projects: []string{"shop"}},
		identity.Request{Name: "wide", Kind: identity.Publisher},
	)
	ci, eve, ctx := all["ci"], all["eve"], t.Context()
	submit := func(c *client.Client, project string) error {
		_, err := c.Submit(ctx, &loomv1.Submission{Project: project, Process: "auto-bug-workflow", Goal: "g"})
		return err
	}
	if err := submit(all["wide"], "other"); err != nil {
		t.Fatal(err)
	}
	look := func(view string, q *loomv1.Query) error {
		return eve.Call(ctx, view, q, &loomv1.View{})
	}
	notices := func(c *client.Client, q *loomv1.NoticesRequest) error {
		_, err := c.Notices(ctx, q)
		return err
	}
	for what, tt := range map[string]struct {
		err error
		in  bool
	}{
		"submit to its own":         {submit(ci, "shop"), true},
		"submit to another":         {submit(ci, "other"), false},
		"submit to none":            {submit(ci, ""), false},
		"report for its own":        {func() error { _, err := ci.Report(ctx, crash("shop")); return err }(), true},
		"report for another":        {func() error { _, err := ci.Report(ctx, crash("other")); return err }(), false},
		"its notices":               {notices(ci, &loomv1.NoticesRequest{Project: "shop"}), true},
		"another's notices":         {notices(ci, &loomv1.NoticesRequest{Project: "other"}), false},
		"everybody's notices":       {notices(ci, &loomv1.NoticesRequest{}), false},
		"notices of another's bead": {notices(eve, &loomv1.NoticesRequest{Project: "shop", Bead: "other-1"}), false},
		"its beads":                 {look("bead", &loomv1.Query{Project: "shop"}), true},
		"its bead by id":            {look("bead", &loomv1.Query{Project: "shop", Id: "shop-1"}), true},
		"another's beads":           {look("bead", &loomv1.Query{Project: "other"}), false},
		"another's bead by id":      {look("bead", &loomv1.Query{Id: "other-1"}), false},
		"another's bead as its own": {look("bead", &loomv1.Query{Project: "shop", Id: "other-1"}), false},
		"all beads":                 {look("bead", &loomv1.Query{}), false},
		"all projects":              {look("project", &loomv1.Query{}), false},
		"another's history":         {func() error { _, err := eve.History(ctx, &loomv1.HistoryRequest{Execution: "other-1-x1"}); return err }(), false},
		"what the host runs":        {func() error { _, err := eve.Host(ctx, &loomv1.HostRequest{}); return err }(), false},
		"a change":                  {func() error { _, err := eve.Update(ctx, &loomv1.BeadRequest{}); return err }(), false},
	} {
		if denied := fault.Code(tt.err) == "request/denied"; tt.in && tt.err != nil || !tt.in && !denied {
			t.Errorf("%s: %v, want let through: %t", what, tt.err, tt.in)
		}
	}
}

func crash(project string) *loomv1.ErrorReport {
	return &loomv1.ErrorReport{Project: project, Service: "web", Kind: "crash", Message: "it broke"}
}

// TestSEC01_NobodySwallowsAnothersSubmission by taking its idempotency key
// first: a key is its publisher's own.
func TestSEC01_NobodySwallowsAnothersSubmission(t *testing.T) {
	all := two(
		t,
		identity.Request{Name: "a", Kind: identity.Publisher},
		identity.Request{Name: "b", Kind: identity.Publisher},
	)
	beads := map[string]string{}
	for _, name := range []string{"a", "b", "a", "b"} {
		reply, err := all[name].Submit(t.Context(), &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "of " + name, IdempotencyKey: "order-1"})
		if err != nil {
			t.Fatal(err)
		}
		if before, again := beads[name]; again != reply.Duplicate || again && before != reply.Bead {
			t.Errorf("%s: bead %s, a repetition: %t; before: %s", name, reply.Bead, reply.Duplicate, before)
		}
		beads[name] = reply.Bead
	}
	if beads["a"] == beads["b"] {
		t.Errorf("both have bead %s", beads["a"])
	}
}
