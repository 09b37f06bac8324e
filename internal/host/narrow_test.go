package host_test

import (
	"path/filepath"
	"slices"
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
	c.Agents, c.Secrets = map[string]int{}, []string{"SHOP_TOKEN=" + laterSecret}
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
		"another's parts":           {look("bead", &loomv1.Query{Parent: "other-1"}), false},
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

// TestCLI01_ListsSpanProjects: a list without a project has what all projects have that
// the sender may read, page by page.
func TestCLI01_ListsSpanProjects(t *testing.T) {
	all := two(
		t,
		identity.Request{Name: "wide", Kind: identity.Operator},
		identity.Request{Name: "eve", Kind: identity.Observer, Projects: []string{"shop"}},
	)
	wide, ctx := all["wide"], t.Context()
	for _, project := range []string{"shop", "other", "shop", "other"} {
		if _, err := wide.Submit(ctx, &loomv1.Submission{Project: project, Process: "auto-bug-workflow", Goal: "g"}); err != nil {
			t.Fatal(err)
		}
	}
	beads := func(c *client.Client, q *loomv1.Query) (ids []string, next string) {
		t.Helper()
		v, err := c.Bead(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range v.Beads {
			ids = append(ids, b.Id)
		}
		return ids, v.Next
	}
	for _, tt := range []struct {
		who, after, next string
		limit            uint32
		want             []string
	}{
		{"wide", "", "", 0, []string{"other-2", "other-1", "shop-2", "shop-1"}},
		{"wide", "", "other-2", 1, []string{"other-2"}},
		{"wide", "", "other-1", 2, []string{"other-2", "other-1"}}, // a page ends with a project
		{"wide", "other-1", "", 2, []string{"shop-2", "shop-1"}},
		{"wide", "other-2", "shop-2", 2, []string{"other-1", "shop-2"}},
		{"wide", "shop-1", "", 2, nil},
		{"eve", "", "", 0, []string{"shop-2", "shop-1"}},
		{"eve", "other-2", "", 0, []string{"shop-2", "shop-1"}},
	} {
		got, next := beads(all[tt.who], &loomv1.Query{After: tt.after, Limit: tt.limit})
		if !slices.Equal(got, tt.want) || next != tt.next {
			t.Errorf("%s after %q, at most %d: %v and then %q, want %v and %q", tt.who, tt.after, tt.limit, got, next, tt.want, tt.next)
		}
	}
	for _, view := range []string{"execution", "inbox", "lock", "pause", "permission", "workflow"} {
		for who, c := range all {
			v := &loomv1.View{}
			if err := c.Call(ctx, view, &loomv1.Query{}, v); err != nil {
				t.Errorf("%s asks for %s of all projects: %v", who, view, err)
			}
			for _, d := range v.Definitions {
				if who == "eve" && d.Project != "shop" {
					t.Errorf("%s sees %s of project %q", who, d.Name, d.Project)
				}
			}
		}
	}
	if _, err := wide.Graph(ctx, &loomv1.Query{}); err != nil {
		t.Errorf("the graphs of all projects: %v", err)
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
