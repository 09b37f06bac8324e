package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/token"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// marked stands in all that the interviewer of these tests must not bring before a person.
const marked = "qzxv"

// notesPattern is a pattern with one step.
const notesPattern = `kind: pattern
name: notes
version: "1.0"
family: analysis
purpose: Find out what a pile of notes says.
world_scope: project
outputs: [{name: claims.md, type: text}]
primacy_questions:
  - {ask: "What do you hope to know?", about: goal}
  - {ask: "What must stay out of it?", about: constraints}
  - {ask: "Who will read it?", about: audience}
  - {ask: "Which notes count?", about: scope}
  - {ask: "By what will you see that it was worth it?", about: success}
steps:
  - {order: 1, name: read, description: Write down what each note claims., role: analyst, writes: [files], deliverables: [claims.md]}
rubric: [{name: grounded, question: "Does every claim name its note?"}]
`

// interviewer asks about each field, and says and tries much that nobody may read.
type interviewer struct {
	mu    sync.Mutex
	asked int
	tries int
}

func (v *interviewer) answer(r *model.Request) (*model.Response, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(r.Tools) != 2 {
		return nil, fmt.Errorf("%d tools", len(r.Tools))
	}
	v.asked++
	call := func(tool string, args any) (*model.Response, error) {
		data, err := json.Marshal(args)
		return &model.Response{Text: "I would say " + marked, Stop: model.StopTools, Calls: []*loomv1.ToolCall{{Tool: tool, Arguments: string(data)}}}, err
	}
	answers := 0
	for _, m := range r.Messages {
		if m.Role == model.RoleTool && !m.Failed {
			answers++
		}
	}
	if last := r.Messages[len(r.Messages)-1]; !last.Failed && v.tries < 2 && answers == v.tries {
		v.tries++
		return call("ask_clarifying", map[string]string{"question": "How about " + marked + "?", "about": "goal"})
	}
	questions := []struct{ text, about string }{
		{"What do you want to know?", "goal"}, {"What must stay out of it?", "constraints"}, {"Who reads it?", "audience"}, {"Which notes count?", "scope"}, {"By what will you see that it was worth it?", "success"},
	}
	if answers == len(questions) {
		return call("finish", map[string]any{"goal": []map[string]any{{"answer": 1, "text": "agree on"}}})
	}
	return call("ask_clarifying", map[string]string{"question": questions[answers].text, "about": questions[answers].about})
}

// Before the seal no byte of a model reaches a person but questions that were let through:
// not in notices and history, what is written live, sessions, inbox, beads, executions and
// their log, logs of the host, nor in any file that it keeps. The host is started again in
// between, and asks nothing twice.
func TestPAT02_BeforeTheSealNothingOfAModelIsSeen(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	v := &interviewer{}
	c := config(t, scripted.New("interviewer", v.answer))
	var seen safeBuffer
	c.HTTP = "127.0.0.1:0"
	c.Logger = slog.New(slog.NewTextHandler(&seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := start(t, c)
	ops := connect(t, h, "operator")
	stop, err := ops.Live("shop", func(w *loomv1.Writing) { fmt.Fprint(&seen, w) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	answer, err := ops.Intent(ctx, &loomv1.IntentRequest{Project: "shop", Verb: &loomv1.IntentRequest_Open{Open: &loomv1.OpenPattern{File: notesPattern, Request: "Read the notes"}}})
	if err != nil {
		t.Fatal(err)
	}
	id := answer.GetSession().Id
	for i, text := range []string{"What they agree on", "No names", "The team", "All of June", "Every claim names its note"} {
		q := awaitQuestion(ctx, t, ops, id, i)
		if i == 2 {
			h.Stop(ctx)
			c.Projects = nil
			h = start(t, c)
			ops = connect(t, h, "operator")
			if again := sessionOf(ctx, t, ops, id); again.Question.GetText() != q.Text {
				t.Fatalf("after the restart it asks %v, want %q", again.Question, q.Text)
			}
		}
		if _, err := ops.Intent(ctx, &loomv1.IntentRequest{Project: "shop", Session: id, Verb: &loomv1.IntentRequest_Answer{Answer: &loomv1.AnswerQuestion{Question: q.Number, Text: text}}}); err != nil {
			t.Fatal(err)
		}
	}
	followUntil(ctx, t, ops, "the envelope", func(e *loomv1.Event) bool { return e.GetSessionAdvanced().GetFact().GetDrafted() != nil })
	followUntil(ctx, t, ops, "the end of the interview", func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil })
	s := sessionOf(ctx, t, ops, id)
	if s.Shown.GetEnvelope().GetGoal()[0].GetText() != "agree on" || v.tries != 2 {
		t.Fatalf("the envelope is %v, after %d tries", s.Shown, v.tries)
	}
	everything(ctx, t, ops, &seen)
	overHTTP(ctx, t, h, c.Data, &seen)
	h.Stop(ctx)
	if got := seen.String(); strings.Contains(got, marked) {
		t.Errorf("a model's words were seen: %s", around(got))
	} else if !strings.Contains(got, "What do you want to know?") {
		t.Error("nothing was looked at")
	}
	for name, data := range files(t, c.Data) {
		if bytes.Contains(data, []byte(marked)) {
			t.Errorf("a model's words are kept in %s", name)
		}
	}
}

// safeBuffer takes what several write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func around(text string) string {
	i := strings.Index(text, marked)
	return text[max(i-200, 0):min(i+50, len(text))]
}

func sessionOf(ctx context.Context, t *testing.T, c *client.Client, id string) *loomv1.PatternSession {
	t.Helper()
	v, err := c.Session(ctx, &loomv1.Query{Project: "shop", Id: id})
	if err != nil {
		t.Fatal(err)
	}
	return v.Sessions[0]
}

// awaitQuestion waits for the question after so many answers.
func awaitQuestion(ctx context.Context, t *testing.T, c *client.Client, id string, answers int) *loomv1.QuestionAsked {
	t.Helper()
	asked := followUntil(ctx, t, c, fmt.Sprintf("question %d", answers+1), func(e *loomv1.Event) bool {
		return e.GetSessionAdvanced().GetFact().GetAsked().GetNumber() == uint32(answers+1) //nolint:gosec // few
	})
	return asked.GetSessionAdvanced().GetFact().GetAsked()
}

// everything writes what a person can look at.
func everything(ctx context.Context, t *testing.T, c *client.Client, to *safeBuffer) {
	t.Helper()
	err := c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, false, func(n *loomv1.Notice) error {
		fmt.Fprintln(to, protojson.Format(n))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	q := &loomv1.Query{Project: "shop"}
	for name, look := range map[string]func(context.Context, *loomv1.Query) (*loomv1.View, error){
		"session": c.Session, "bead": c.Bead, "execution": c.Execution, "inbox": c.Inbox, "memory": c.Memory,
	} {
		v, err := look(ctx, q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintln(to, protojson.Format(v))
	}
	err = c.FollowTranscript(ctx, &loomv1.TranscriptRequest{Execution: "shop-1-x1"}, false, func(e *loomv1.TranscriptEntry) error {
		fmt.Fprintln(to, protojson.Format(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// overHTTP writes what a program with all rights reads over HTTP: every route that is
// listed and answers at once.
func overHTTP(ctx context.Context, t *testing.T, h *host.Host, data string, to *safeBuffer) {
	t.Helper()
	secret := ""
	reader := func(name string) { // each has its own limit of requests in a second
		var err error
		if _, secret, err = token.Create(data, name, token.Scopes(), 0, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	reader("first")
	get := func(path string) ([]byte, int) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.HTTP()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body, resp.StatusCode
	}
	listed, _ := get("/api/v1/openapi.json")
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(listed, &api); err != nil {
		t.Fatal(err)
	}
	read, asked, statuses := 0, 0, map[int]int{}
	for path, verbs := range api.Paths {
		if verbs["get"] == nil || strings.HasSuffix(path, "/events") { // which never ends
			continue
		}
		asked++
		reader(fmt.Sprint("reader-", asked))
		for _, id := range []string{"s1", "shop-1", "shop-1-x1"} {
			body, status := get(ids.ReplaceAllString(path, id))
			if statuses[status]++; status == http.StatusOK {
				read++
				fmt.Fprintf(to, "%s\n", body)
			}
		}
	}
	if read < 60 || statuses[http.StatusTooManyRequests] > 0 {
		t.Errorf("%d answers over HTTP, by status %v", read, statuses)
	}
}

// ids are the places for ids in a path.
var ids = regexp.MustCompile(`\{[^}]*\}`)

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
