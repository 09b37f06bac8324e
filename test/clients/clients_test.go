//go:build clients

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/demo"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// said is what the client printed, by what each line is about.
type said map[string][]json.RawMessage

func (s said) into(t *testing.T, what string, v any) {
	t.Helper()
	if len(s[what]) == 0 {
		t.Fatalf("the client said nothing about %q", what)
	}
	if err := json.Unmarshal(s[what][0], v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (s said) texts(what string) []string {
	var out []string
	for _, raw := range s[what] {
		out = append(out, string(raw))
	}
	return out
}

// runClient runs the JavaScript client against a host until it ends.
func runClient(t *testing.T, url string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "client.mjs", url, "shop")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := said{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("the client printed %q: %v", lines.Text(), err)
		}
		for what, raw := range line {
			all[what] = append(all[what], raw)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("client: %v", err)
	}
	return all
}

// startHost starts a host, and returns it with its data directory.
func startHost(t *testing.T) (*host.Host, string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := demo.MakeRepository(t.Context(), filepath.Join(dir, "shop")); err != nil {
		t.Fatal(err)
	}
	m, err := provider.Open("scripted:demo", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Start(t.Context(), host.Config{
		Data: data, HTTP: "127.0.0.1:0", CEOKey: filepath.Join(dir, "ceo.nk"), Listen: "127.0.0.1:0", Model: m, Unsandboxed: true,
		Projects: []host.Project{{ID: "shop", Repository: filepath.Join(dir, "shop")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Stop(context.Background()) })
	return h, data
}

func TestSUB01_AJavaScriptClientSubmitsAndWatches(t *testing.T) {
	h, _ := startHost(t)
	s := runClient(t, h.URL())

	var first, again struct {
		Bead, Execution string
		Duplicate       bool
	}
	s.into(t, "submitted", &first)
	s.into(t, "again", &again)
	if first.Bead != "shop-1" || again.Bead != first.Bead || !again.Duplicate {
		t.Errorf("submitted %+v, again %+v; want shop-1 and the same as a duplicate", first, again)
	}
	var refused struct{ Error struct{ Code string } }
	s.into(t, "refused", &refused)
	if refused.Error.Code != "submit/empty-goal" {
		t.Errorf("an empty goal: %q, want submit/empty-goal", refused.Error.Code)
	}
	s.into(t, "unknownField", &refused)
	if refused.Error.Code != "submit/unknown-field" {
		t.Errorf("an unknown field: %q, want submit/unknown-field", refused.Error.Code)
	}
	var filed string
	s.into(t, "filed", &filed)
	checkBeads(t, h, first.Bead, filed)
	checkNotices(t, s, first.Bead)
	checkForbidden(t, s)
}

// checkBeads looks at the beads as the host's operator sees them.
func checkBeads(t *testing.T, h *host.Host, submitted, reported string) {
	t.Helper()
	nc, err := h.Connect("operator")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(nc)
	defer c.Close()
	for id, want := range map[string]func(*loomv1.Bead) bool{
		submitted: func(b *loomv1.Bead) bool {
			return b.Goal == "grüße aus JavaScript" && b.Type == loomv1.BeadType_BEAD_TYPE_BUG
		},
		reported: func(b *loomv1.Bead) bool {
			return b.Report.GetService() == "storefront" && b.Process == "auto-bug-workflow"
		},
	} {
		v, err := c.Bead(t.Context(), &loomv1.Query{Project: "shop", Id: id})
		if err != nil || !want(v.Beads[0]) {
			t.Errorf("bead %s: %v, %v", id, v, err)
		}
	}
}

// checkNotices: each position once, with a line for people.
func checkNotices(t *testing.T, s said, bead string) {
	t.Helper()
	seen := map[string]bool{}
	kinds := ""
	for _, raw := range s["notice"] {
		var n struct{ Bead, Kind, Position, Summary string }
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		if n.Position == "" || n.Summary == "" || seen[n.Position] {
			t.Errorf("notice %s: no position or summary, or twice", raw)
		}
		seen[n.Position] = true
		if n.Bead == bead {
			kinds += n.Kind + " "
		}
	}
	if !strings.HasPrefix(kinds, "bead-filed execution-started ") {
		t.Errorf("notices of %s: %s, want it filed and started first", bead, kinds)
	}
}

func checkForbidden(t *testing.T, s said) {
	t.Helper()
	if got := s.texts("allowed"); len(got) > 0 {
		t.Errorf("without credentials the client could %s", got)
	}
	got := strings.Join(s.texts("forbidden"), " ")
	for _, what := range []string{"read beads", "list streams", "delete the journal", "approve", "read the journal", "write the journal"} {
		if !strings.Contains(got, what) {
			t.Errorf("the client was not kept from: %s (it says %s)", what, got)
		}
	}
}
