package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/redact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
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
