package agent_test

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const hidden = "sk-live-8f1c5e0a7d42"

// A secret that lies in the repository and in the report gets into nothing that
// leaves the tools: no prompt, record, blob or outcome.
func TestP25_NoSecretLeavesTheTools(t *testing.T) {
	coded := base64.StdEncoding.EncodeToString([]byte("x" + hidden))
	b := newBench(t, script(
		says(call("file_read", map[string]any{"path": "conf.txt"}), call("shell", map[string]any{"command": "cat conf.txt; exit 3"}), call("content_search", map[string]any{"pattern": "sk-"})),
		says(call("file_read", map[string]any{"path": "no/" + hidden})),
		&model.Response{Text: "I saw " + hidden, Calls: finish("failure").Calls, Stop: model.StopTools},
	), git.File{Path: "conf.txt", Data: []byte("key=" + hidden + "\nagain=" + coded + "\nsplit=" + hidden[:7] + "\\\n" + hidden[7:] + "\n")})
	b.worker.Secrets = redact.Of([]string{"THE_KEY=" + hidden})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Bead.Report = &loomv1.ErrorReport{Service: "shop", Message: "refused " + hidden}
	out := b.must(br)
	var seen [][]byte
	for _, m := range b.asks.last.Messages {
		seen = append(seen, []byte(m.Text))
		for _, c := range m.Calls {
			seen = append(seen, []byte(c.Arguments))
		}
	}
	b.worker.Blobs.(*blobs).m.Range(func(_, data any) bool { seen = append(seen, data.([]byte)); return true })
	for _, m := range []proto.Message{out, b.seat.turn} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, data)
	}
	for _, data := range seen {
		for _, form := range []string{hidden, hidden[2:], coded[4:]} {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("the secret stands in %.300q", data)
			}
		}
	}
	if !slices.ContainsFunc(seen, func(d []byte) bool { return bytes.Contains(d, []byte("key=[redacted THE_KEY]")) }) {
		t.Error("nothing was taken out: the tools saw no secret")
	}
}

// What holds a secret is not proposed, so that no commit has it.
func TestP25_AChangeWithASecretIsNotProposed(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(call("shell", map[string]any{"command": "cp a.txt b.txt; cat conf.txt >> b.txt"})), nil
		}
		return finish("success"), nil
	}, git.File{Path: "conf.txt", Data: []byte("key=" + hidden + "\n")})
	b.worker.Secrets = redact.Of([]string{"THE_KEY=" + hidden})
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || out.Change != nil || !strings.Contains(out.Summary, "THE_KEY") || strings.Contains(out.String(), hidden) {
		t.Errorf("%v, want a failure that names the secret", out)
	}
}
