package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// What web_fetch reads is kept with the call: the address after redirects, the hash of
// what came, what came, and its words, without secrets.
func TestTOOL07_PagesAreKept(t *testing.T) {
	const page = "<title>Prices</title><main><h1>Prices</h1><p>They rose by 4 %. hunter2-hunter2</p></main>"
	internet := sourcetest.New(t)
	internet.Serve("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/prices", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}))
	b := newBench(t, script(says(call("web_fetch", map[string]any{"url": "https://www.example.com/old"})), says(call("web_fetch", map[string]any{"url": "https://elsewhere.test/"})), finish("success")))
	b.worker.Sources = &tool.Sources{Web: fetch.New(internet.Config(fetch.Config{Hosts: []string{"*.example.com"}}))}
	b.worker.Secrets = redact.Of([]string{"PASSWORD=hunter2-hunter2"})
	b.must(brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	var read []*loomv1.SourceRead
	for _, s := range b.seat.turn.Steps {
		read = append(read, s.GetTool().GetResult().GetRead()...)
	}
	if len(read) != 1 || read[0].Address != "https://www.example.com/prices" || read[0].Title != "Prices" || read[0].Size != uint64(len(page)) {
		t.Fatalf("%v", read)
	}
	for ref, want := range map[*loomv1.BlobRef]string{read[0].Content: "<h1>Prices</h1><p>They rose by 4 %. ", read[0].Text: "# Prices\n\nThey rose by 4 %. "} {
		data, err := b.worker.Blobs.Get(context.Background(), ref)
		if err != nil || !strings.Contains(string(data), want) || strings.Contains(string(data), "hunter2") {
			t.Errorf("%q (%v), want %q", data, err, want)
		}
	}
}

// quoting is the work of an agent that reads a page and writes a file with one quotation
// after the other, as long as they are refused; told is what it was told.
func quoting(t *testing.T, severity string, most time.Duration, quotations ...string) (out *loomv1.Outcome, told []string) {
	t.Helper()
	const process = `name: prices
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [a.md]}
verification:
  rules:
    - {name: quoted, type: citations, description: Quotations stand there., with: {of: quotations}, severity: %s}
`
	def, err := processes.Parse("prices.yaml", fmt.Appendf(nil, process, severity), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	internet := sourcetest.New(t)
	internet.Serve("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<main><p>The <b>price</b> rose by four percent.</p></main>")
	}))
	answers := []*model.Response{says(call("web_fetch", map[string]any{"url": "https://www.example.com/prices"}))}
	for _, q := range quotations {
		answers = append(answers, says(call("file_write", map[string]any{"path": "a.md", "content": "They say \"" + q + "\" (https://www.example.com/prices).\n"}),
			call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})))
	}
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		told = append(told, r.Messages[len(r.Messages)-1].Text)
		return answers[len(told)-1], nil
	})
	b.worker.Sources = &tool.Sources{Web: fetch.New(internet.Config(fetch.Config{Hosts: []string{"*.example.com"}}))}
	br := brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Nodes = map[string]*loomv1.NodeState{"facts": {}}
	at(br, def, "facts")
	b.worker.Blobs = whileWanted{b.worker.Blobs}
	b.as("analyst", func(r *roles.Role) { r.Limits.Time = most })
	return b.must(br), told
}

// A quotation beside the citation of a page that the agent has read must stand there: it is
// told within the turn what does not, and mends it.
func TestPROC05_AQuotationMustStandInThePageThatWasRead(t *testing.T) {
	out, told := quoting(t, "error", 0, "the price fell by a half", "The price rose by four percent.")
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 3 {
		t.Fatalf("after %d answers: %v\n%s", len(told), out, strings.Join(told, "\n----\n"))
	}
	if want := `found the quotation "the price fell by a half", wanted words of https://www.example.com/prices as it was read`; !strings.Contains(told[2], want) {
		t.Errorf("the agent is told\n%s\nwithout %q", told[2], want)
	}
}

// What only deserves a warning is told once, within the turn, and keeps nobody from a
// success. Pages are at hand after a turn whose time is limited, too.
func TestPROC05_AWarningIsToldWithinTheTurnOnce(t *testing.T) {
	const wrong = "the price fell by a half"
	out, told := quoting(t, "warning", time.Hour, wrong, wrong)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 3 || !strings.Contains(out.Notes, wrong) {
		t.Fatalf("after %d answers: %v", len(told), out)
	}
	for _, want := range []string{wrong, "no reason to refuse the work"} {
		if !strings.Contains(told[2], want) {
			t.Errorf("the agent is told\n%s\nwithout %q", told[2], want)
		}
	}
	out, told = quoting(t, "warning", 0, wrong, "The price rose by four percent.")
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 3 || strings.Contains(out.Notes, wrong) {
		t.Errorf("one that was mended: after %d answers: %v", len(told), out)
	}
}

// rereads is the work of a phase that reads a page which phases before it have read, with
// other words or the same, and what it was told first.
func rereads(t *testing.T, was string, said map[string]any) (out *loomv1.Outcome, prompt string) {
	t.Helper()
	def, err := processes.Parse("prices.yaml", []byte(`name: prices
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [a.md]}
  - {id: more, role: analyst, description: Gather more., depends_on: [facts], deliverables: [b.md], may_replan: true}
  - {id: memo, role: analyst, description: Write., depends_on: [more], deliverables: [c.md]}
`), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	page := was
	internet := sourcetest.New(t)
	internet.Serve("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!-- "+was+" --><main><p>"+page+"</p></main>")
	}))
	x := &loomv1.Execution{Id: "shop-1-x1", Bead: "shop-1", Nodes: map[string]*loomv1.NodeState{"facts": {}, "more": {}}}
	work := func(node, file string, fields map[string]any) *loomv1.Outcome {
		end := map[string]any{"status": "success", "summary": "done", "fields": fields}
		first := true
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			if first {
				first, prompt = false, r.Messages[0].Text
				return says(call("web_fetch", map[string]any{"url": "https://www.example.com/prices"})), nil
			}
			return says(call("file_write", map[string]any{"path": file, "content": "# Facts\n\nThe price rose.\n"}), call(turn.FinishName, end)), nil
		})
		b.worker.Sources = &tool.Sources{Web: fetch.New(internet.Config(fetch.Config{Hosts: []string{"*.example.com"}}))}
		br := brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Execution = proto.CloneOf(x)
		at(br, def, node)
		return b.must(br)
	}
	x.Nodes["facts"] = &loomv1.NodeState{Outcome: work("facts", "a.md", nil), Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED}
	page = "The price rose."
	return work("more", "b.md", said), prompt
}

// A phase that may have the rest planned anew does, where a page has other words than a phase
// before has read; what is said of it by its agent counts more, and the same words are no
// change, whatever else the page has.
func TestPROC04_AChangedSourceHasTheRestPlannedAnew(t *testing.T) {
	longtest.Skip(t)
	const changed = "https://www.example.com/prices is not what phase facts has read"
	for _, tt := range []struct{ was, says, want string }{
		{"The price fell.", "", changed},
		{"The price fell.", "nobody buys it", "nobody buys it"},
		{"The price rose.", "", ""},
	} {
		out, prompt := rereads(t, tt.was, map[string]any{"replan": tt.says})
		if got := out.Fields.GetFields()["replan"].GetStringValue(); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("after %q: %v, want %q", tt.was, out, tt.want)
		}
		if told := strings.Contains(out.Notes, changed); told != (tt.was != "The price rose.") {
			t.Errorf("after %q the notes are %q", tt.was, out.Notes)
		}
		if want := "## Read in this run"; !strings.Contains(prompt, want) || !strings.Contains(prompt, "https://www.example.com/prices, read in facts") {
			t.Errorf("the phase is told\n%s\nwithout %q", prompt, want)
		}
	}
}

// whileWanted gives what is kept for as long as it is wanted.
type whileWanted struct{ agent.Blobs }

func (w whileWanted) Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return w.Blobs.Get(ctx, ref)
}
