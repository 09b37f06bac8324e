package host_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/internal/ops/vault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// canary is the secret that is brought in by one way.
func canary(way string) string { return `sk"` + way + `\5e0a 7d42%&f1c-` + strings.Repeat(way, 2) }

// ways are the ways in.
var ways = []string{
	"report", "stream", "submit", "refused", "aside", "posted", "asked", "updated", "closed", "graph", "said", "signed",
	"model", "call", "tool", "provider",
}

// encodings are all in which a canary comes.
func encodings(secret string) map[string]string {
	inJSON, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	all := map[string]string{
		"plain": secret, "hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "JSON": string(inJSON),
		"lines": secret[:9] + "\n" + secret[9:], "colours": secret[:9] + "\x1b[1m" + secret[9:],
	}
	for n := range 3 {
		for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "URL base64": base64.RawURLEncoding} {
			all[fmt.Sprint(name, " at ", n)] = e.EncodeToString([]byte("xyz"[:n] + secret))
		}
	}
	return all
}

// everyWay is a canary in all its encodings, as one text.
func everyWay(way string) string {
	var all []string
	for _, coded := range encodings(canary(way)) {
		all = append(all, coded)
	}
	slices.Sort(all)
	return way + " says " + strings.Join(all, " and ")
}

// finds says by which way, and how coded, a canary got into data.
func finds(data []byte) []string {
	var found []string
	for _, way := range ways {
		for name, coded := range encodings(canary(way)) {
			if bytes.Contains(data, []byte(coded[6:len(coded)-6])) { // its ends may be coded with what is beside it
				found = append(found, way+" as "+name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// sink keeps what comes out somewhere.
type sink struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *sink) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(data)
}

func (s *sink) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all.Bytes())
}

// parrot says, in two parts, all that it should not, and is told so by its tools.
type parrot struct {
	*mender
	model.Provider
	file  string // with what a tool tells
	asked *sink

	mu     sync.Mutex
	failed bool
	looked bool
}

func (p *parrot) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	asked, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	_, _ = p.asked.Write(asked)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.failed {
		p.failed = true
		return nil, fault.New("model/refused", "no: %s", everyWay("provider"))
	}
	answer, err := p.Provider.Ask(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	answer.Text = everyWay("model")
	if !p.looked {
		p.looked = true
		answer.Calls = []*loomv1.ToolCall{{Id: "c1", Tool: "shell", Arguments: `{"command":` + strconv.Quote("cat '"+p.file+"'; echo "+hex.EncodeToString([]byte(canary("call")))) + `}`}}
	}
	for n := range len(answer.Text) { // in parts that end everywhere
		if n%7 == 0 {
			onChunk(model.Chunk{Text: answer.Text[n:min(n+7, len(answer.Text))]})
		}
	}
	return answer, nil
}

// TestP25_SEC02_NoCanaryComesOut has a host do one job, with secrets in all that
// anybody gives it, in every encoding; and looks for them in all that it keeps,
// tells and does.
func TestP25_SEC02_NoCanaryComesOut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	y := newAviary(ctx, t)
	bead := y.report(ctx)
	y.bringIn(ctx)
	y.work(ctx, bead)
	y.read(ctx)
	y.host.Stop(ctx)
	y.check(ctx)
}

// aviary is a host with canaries, and all that comes out of it.
type aviary struct {
	t      *testing.T
	config host.Config
	host   *host.Host
	owner  *owner
	token  string
	tape   string
	sinks  map[string]*sink
}

func newAviary(ctx context.Context, t *testing.T) *aviary {
	y := &aviary{t: t, tape: filepath.Join(t.TempDir(), "tape"), sinks: map[string]*sink{}}
	for _, name := range []string{"log", "prompts", "notices", "live", "HTTP", "NATS"} {
		y.sinks[name] = &sink{}
	}
	file := filepath.Join(t.TempDir(), "told")
	if err := os.WriteFile(file, []byte(everyWay("tool")), 0o600); err != nil {
		t.Fatal(err)
	}
	team := &mender{}
	p := &parrot{mender: team, Provider: scripted.New("parrot", team.answer), file: file, asked: y.sinks["prompts"]}
	c := config(t, p)
	c.HTTP, c.Logger = "127.0.0.1:0", slog.New(slog.NewJSONHandler(y.sinks["log"], &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, way := range ways {
		c.Secrets = append(c.Secrets, strings.ToUpper(way)+"_KEY="+canary(way))
	}
	tape, err := recording.Create(y.tape, recording.Header{Made: time.Now().UTC(), Model: p.Name()}, c.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tape.Close() })
	c.Tape = tape
	y.config, y.host = c, start(t, c)
	y.owner = newOwner(t, c, y.host)
	if _, y.token, err = token.Create(c.Data, "reader", token.Scopes(), 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	y.listen()
	return y
}

// listen hears all notices, and what models write.
func (y *aviary) listen() {
	nc, err := y.host.Connect("operator")
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(nc.Close)
	for name, subj := range map[string]string{"notices": "loom.v1.notice.>", "live": "loom.v1.live.>"} {
		if _, err := nc.Subscribe(subj, func(m *nats.Msg) {
			if len(m.Header) > 0 {
				fmt.Fprintf(y.sinks[name], "%s %v ", m.Subject, m.Header)
			}
			_, _ = y.sinks[name].Write(m.Data)
		}); err != nil {
			y.t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		y.t.Fatal(err)
	}
}

// told keeps what a client was answered, and returns the error's code.
func (y *aviary) told(reply any, err error) string {
	fmt.Fprintf(y.sinks["NATS"], "%+v %+v\n", reply, err)
	var f *fault.Error
	if errors.As(err, &f) {
		fmt.Fprintf(y.sinks["NATS"], "%+v\n", f.Proto())
	}
	return fault.Code(err)
}

// report reports an error with canaries, and returns its bead. What else is
// brought in waits for that.
func (y *aviary) report(ctx context.Context) string {
	r := report()
	r.Message, r.Stack, r.Attributes = everyWay("report"), everyWay("report"), map[string]string{"env": everyWay("report")}
	reply, err := connect(y.t, y.host, "anonymous").Report(ctx, r)
	if y.told(reply, err); err != nil {
		y.t.Fatal(err)
	}
	return reply.Bead
}

// bringIn brings canaries in by what publishers and people write.
func (y *aviary) bringIn(ctx context.Context) {
	t, anybody, operator := y.t, connect(y.t, y.host, "anonymous"), y.owner.inbox
	y.publish(ctx)
	values, err := structpb.NewStruct(map[string]any{everyWay("submit"): []any{everyWay("submit")}})
	if err != nil {
		t.Fatal(err)
	}
	sub := &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: canary("submit"), Description: everyWay("submit"), Context: values, IdempotencyKey: canary("submit"), BlockedBy: []string{"shop-1"}}
	first, err := anybody.Submit(ctx, sub)
	y.told(first, err)
	again, err := anybody.Submit(ctx, sub)
	if y.told(again, err); err != nil || !again.Duplicate || again.Bead != first.Bead {
		t.Errorf("the same submission again is answered with %v, %v; want %s", again, err, first.GetBead())
	}
	for _, bad := range []*loomv1.Submission{
		{Project: "shop", Goal: "x", Process: canary("refused")},
		{Project: canary("refused"), Goal: "x"},
		{Project: "shop", Goal: "x", Labels: []string{canary("refused")}},
		{Project: "shop", Goal: "x", BlockedBy: []string{canary("refused")}},
	} {
		reply, err := anybody.Submit(ctx, bad)
		if y.told(reply, err) == "" {
			t.Errorf("%v is taken", bad)
		}
	}
	bead := first.GetBead()
	y.told(operator.Update(ctx, &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Update{Update: &loomv1.UpdateBead{
		Bead: &loomv1.Bead{Id: bead, Description: everyWay("updated")}, Fields: []string{"description"}, Reason: everyWay("updated"),
	}}}))
	y.told(operator.Decide(ctx, &loomv1.DecisionRequest{Project: "shop", Verb: &loomv1.DecisionRequest_Add{Add: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: canary("graph"), Description: everyWay("graph"), Confidence: 50}, Request: "g1",
	}}}))
	y.told(operator.Update(ctx, &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Close{Close: &loomv1.CloseBead{Bead: bead, Reason: everyWay("closed")}}}))
}

// publish brings in what goes over streams, a task among it that is set aside.
func (y *aviary) publish(ctx context.Context) {
	nc, err := y.host.Connect("anonymous")
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(nc.Close)
	send := func(subj, text string) {
		m := &nats.Msg{Subject: subj, Data: []byte(text), Header: nats.Header{"Content-Type": {"application/json"}}}
		reply, err := nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			y.t.Fatal(err)
		}
		fmt.Fprintf(y.sinks["NATS"], "%s\n", reply.Data)
	}
	message, err := json.Marshal(everyWay("stream"))
	if err != nil {
		y.t.Fatal(err)
	}
	send("loom.v1.task.shop", fmt.Sprintf(`{"goal":"look","description":%s,"context":{"a":%s},"blocked_by":["shop-1"]}`, message, message))
	send("loom.v1.task.shop", `{"goal": `+everyWay("aside"))
	label, err := json.Marshal(canary("aside"))
	if err != nil {
		y.t.Fatal(err)
	}
	send("loom.v1.task.shop", fmt.Sprintf(`{"goal":"x","labels":[%s]}`, label))
}

// work has the report worked on until its change has landed. The person says
// something first, and signs what cannot be taken.
func (y *aviary) work(ctx context.Context, bead string) {
	t, said := y.t, false
	followUntil(ctx, t, y.owner.inbox, "the end", func(e *loomv1.Event) bool {
		if f := e.GetApprovalRequested(); f != nil && e.Bead == bead {
			if !said {
				said = true
				y.told(y.owner.inbox.Say(ctx, &loomv1.SayRequest{Id: e.Execution, Text: canary("said")}))
			}
			y.answer(ctx, e, f.Approval)
		}
		return e.Bead == bead && e.GetExecutionEnded() != nil
	})
	if got := gitIn(t, y.config.Projects[0].Repository, "show", "main:a.txt"); got != "mended" {
		t.Errorf("main has %q", got)
	}
}

func (y *aviary) answer(ctx context.Context, e *loomv1.Event, a *loomv1.Approval) {
	approve := loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		approve = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	}
	if code := y.told(nil, y.owner.decide(ctx, a, approve, everyWay("signed"))); code != "command/secret" {
		y.t.Errorf("a signed secret is answered with %q", code)
	}
	if err := y.owner.decide(ctx, a, approve, "go on"); err != nil {
		y.t.Errorf("%s: %v", e.Node, err)
	}
}

// read asks for all that a host tells, over HTTP.
func (y *aviary) read(ctx context.Context) {
	for _, path := range []string{
		"/api/v1/beads?project=shop", "/api/v1/beads/shop-1", "/api/v1/notices?project=shop", "/api/v1/events?project=shop", "/metrics",
		"/api/v1/beads?" + url.Values{canary("asked"): {canary("asked")}}.Encode(), "/api/v1/beads/" + url.PathEscape(canary("asked")), "/" + url.PathEscape(canary("asked")),
	} {
		y.get(ctx, http.MethodGet, path, nil)
	}
	body, err := json.Marshal(map[string]any{"project": "shop", "goal": "look", "description": everyWay("posted")})
	if err != nil {
		y.t.Fatal(err)
	}
	y.get(ctx, http.MethodPost, "/api/v1/submissions", body)
	for view, q := range map[string]*loomv1.Query{
		"bead": {Project: "shop", Limit: 1000}, "execution": {Project: "shop"}, "graph": {Project: "shop"}, "inbox": {Project: "shop", Filter: "all"},
	} {
		v := &loomv1.View{}
		y.told(v, y.owner.inbox.Call(ctx, view, q, v))
	}
	y.told(nil, y.owner.inbox.Follow(ctx, &loomv1.NoticesRequest{}, false, func(n *loomv1.Notice) error { y.told(n, nil); return nil }))
}

func (y *aviary) get(ctx context.Context, method, path string, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // a stream of events has no end of its own
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, y.host.HTTP()+path, bytes.NewReader(body))
	if err != nil {
		y.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+y.token)
	r.Header.Set("Content-Type", "application/json")
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		y.t.Fatal(err)
	}
	defer reply.Body.Close()
	fmt.Fprintf(y.sinks["HTTP"], "%s %v\n", reply.Status, reply.Header)
	_, _ = io.Copy(y.sinks["HTTP"], reply.Body)
}

// check reads everything.
func (y *aviary) check(ctx context.Context) {
	t := y.t
	for name, s := range y.sinks {
		data := s.bytes()
		if found := finds(data); len(found) > 0 {
			t.Errorf("%s has %v", name, found)
		}
		if name != "HTTP" && !bytes.Contains(data, []byte("[redacted ")) {
			t.Errorf("in %s nothing was taken out: %.300q", name, data)
		}
	}
	y.files(filepath.Dir(y.tape))
	y.files(y.config.Data)
	y.files(y.config.Projects[0].Repository)
	for _, top := range []string{y.config.Projects[0].Repository, filepath.Join(y.config.Data, "git", "repos", "shop.git")} {
		objects := gitIn(t, top, "cat-file", "--batch-all-objects", "--batch")
		if found := finds([]byte(objects)); len(found) > 0 || len(objects) < 100 {
			t.Errorf("%s has %v in %d bytes of objects", top, found, len(objects))
		}
	}
	y.backup(ctx)
}

// files reads all files below a directory but what came in and was not ours yet
// to change: the stream of tasks keeps what publishers sent until the server
// writes over it.
func (y *aviary) files(top string) {
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/streams/TASKS/") {
			return err
		}
		data, err := os.ReadFile(path)
		if found := finds(data); len(found) > 0 {
			y.t.Errorf("%s has %v", path, found)
		}
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
}

// backup makes a backup, and reads it.
func (y *aviary) backup(ctx context.Context) {
	t, file := y.t, filepath.Join(y.t.TempDir(), "backup")
	s, err := vault.OpenBeside(y.config.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Backup(ctx, file, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	parts := 0
	for r := tar.NewReader(zip); ; parts++ {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if found := finds(data); len(found) > 0 {
			t.Errorf("part %d of the backup has %v", parts, found)
		}
	}
	if parts < 3 {
		t.Errorf("the backup has %d parts", parts)
	}
}
