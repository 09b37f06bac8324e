package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var talks = flag.Int("chaos.talks", 0, "turns of a conversation in which its host is killed; 0 is one of each kind")

// cutIn is a moment of a turn at which the host is killed.
type cutIn int

const (
	whileSaid cutIn = iota // while the person says the word
	atCall                 // once the model is asked what to do about it
	atAnswer               // once the model is asked again, after the tool has run
	atRest                 // once it is answered
	anywhere               // so long after it was said
	cutIns
)

// listener is the lead's model, in the process of the test: it keeps what it is told with a
// tool, and then answers. It knows how often it was asked for each half of each turn, and
// can be kept from answering.
type listener struct {
	mu    sync.Mutex
	asked map[[2]int]int // by word and half, 1 or 2
	wrong []string       // requests that reason in another way than was set
	keep  [2]int         // the half that is not answered until it is let go
	came  chan struct{}  // closed when it is asked for
	free  chan struct{}
}

var (
	spoken = regexp.MustCompile(`word (\d+) of the talk`)
	keeps  = regexp.MustCompile(`kiln(\d+) clay`)
)

// efforts are how much the model is to reason, from one word to the next.
var efforts = []string{"low", "high", "max"}

// hold keeps a half of a turn from being answered, and returns what is closed once it is
// asked for.
func (l *listener) hold(word, half int) (came <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep, l.came, l.free = [2]int{word, half}, make(chan struct{}), make(chan struct{})
	return l.came
}

func (l *listener) letGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = [2]int{}
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

func (l *listener) count(word int) (calls, answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[[2]int{word, 1}], l.asked[[2]int{word, 2}]
}

// answer is the server's script.
func (l *listener) answer(r *model.Request) modeltest.Reply {
	word, done := 0, 0
	for _, m := range r.Messages {
		for _, hit := range spoken.FindAllStringSubmatch(m.Text, -1) {
			if n, _ := strconv.Atoi(hit[1]); m.Role != model.RoleAssistant && n > word {
				word = n
			}
		}
		for _, c := range m.Calls {
			if hit := keeps.FindStringSubmatch(c.GetArguments()); hit != nil {
				done, _ = strconv.Atoi(hit[1])
			}
		}
	}
	half := [2]int{word, 1}
	if done == word {
		half[1] = 2
	}
	reply := modeltest.Reply{Text: fmt.Sprintf("Heard word %d, and kept it.", word)}
	if half[1] == 1 {
		reply = modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call(fmt.Sprint("k", word), "memory_keep", fmt.Sprintf(
			`{"type": "discovery", "text": "kiln%[1]d clay%[1]d oven%[1]d brick%[1]d ash%[1]d", "confidence": 90}`, word))}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Thinking.Effort != efforts[word%len(efforts)] {
		l.wrong = append(l.wrong, fmt.Sprintf("word %d with %q", word, r.Thinking.Effort))
	}
	l.asked[half]++
	if half == l.keep && l.free != nil {
		if l.asked[half] == 1 {
			close(l.came)
		}
		reply.After = l.free
	}
	return reply
}

// talkRun is a host with a conversation that is killed while it is held.
type talkRun struct {
	lone
	lead *listener
	id   string
}

// TestHUM02_MEM01_AConversationOutlivesKillNine holds a conversation with a host that is
// killed at moments of its turns. Each word of the person is heard once and answered once,
// what the lead does about it is done once, and no answer of the model that was recorded is
// asked for again; how much it is to reason is switched between words, and holds over kills.
func TestHUM02_MEM01_AConversationOutlivesKillNine(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	draw := rand.New(rand.NewPCG(*seed, 4))
	all := []cutIn{whileSaid, atCall, atAnswer, atRest, anywhere}
	if *talks > 0 {
		t.Logf("seed %d (-chaos.seed)", *seed)
		all = make([]cutIn, *talks)
		for i := range all {
			all[i] = cutIn(draw.IntN(int(cutIns)))
		}
	}
	l := &listener{asked: map[[2]int]int{}}
	server := modeltest.Anthropic(t, l.answer)
	r := &talkRun{lone: lone{t: t, place: newPlace(t)}, lead: l}
	t.Cleanup(l.letGo) // before the server waits for what it answers
	r.place.repository(t, crowd)
	r.place.flags = []string{"--model", "anthropic:claude-scribe", "--bead-usd", "100", "--day-usd", "1000"}
	r.place.env = append(r.place.env, "ANTHROPIC_BASE_URL="+server.URL)
	r.host = r.place.start(t)
	r.id = r.said("open", &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Open{Open: &loomv1.OpenConversation{}}})
	for i, m := range all {
		r.turn(i+1, m, time.Duration(draw.Int64N(int64(60*time.Millisecond))))
	}
	r.judge(len(all))
	t.Logf("%d turns, a kill in each", len(all))
	r.host.stop(syscall.SIGTERM)
}

// turn says a word, kills the host at a moment, has it back, and says the word again: the
// person does not know whether it was heard.
func (r *talkRun) turn(word int, m cutIn, later time.Duration) {
	r.t.Helper()
	r.said(fmt.Sprint("set ", word), &loomv1.ConverseRequest{Conversation: r.id, Verb: &loomv1.ConverseRequest_Set{Set: &loomv1.ConversationSettings{
		Thinking: efforts[word%len(efforts)],
	}}})
	var came <-chan struct{}
	switch m {
	case atCall:
		came = r.lead.hold(word, 1)
	case atAnswer:
		came = r.lead.hold(word, 2)
	}
	var heard sync.WaitGroup
	heard.Go(func() { _, _ = r.say(word) }) // the host may be gone
	switch m {
	case whileSaid:
	case anywhere:
		<-time.After(later)
	case atRest:
		heard.Wait()
		r.rests(word)
	default:
		select {
		case <-came:
		case <-deadline(r.t).Done():
			r.t.Fatalf("the model is not asked about word %d\n%s", word, r.host.text())
		}
	}
	r.host.kill()
	heard.Wait()
	r.lead.letGo()
	r.host = r.place.start(r.t)
	if _, err := r.say(word); err != nil {
		r.t.Fatalf("word %d again: %v\n%s", word, err, r.host.text())
	}
	r.rests(word)

	calls, answers := r.lead.count(word)
	sound := calls == 1 && answers == 1
	switch m {
	case atCall:
		sound = calls == 2 && answers == 1
	case atAnswer:
		sound = calls == 1 && answers == 2
	case whileSaid, anywhere: // what was on its way is asked for again, and nothing else
		sound = calls > 0 && answers > 0 && calls+answers <= 3
	}
	if !sound {
		r.t.Errorf("word %d, killed at %d: the model was asked %d times what to do and %d times to answer", word, m, calls, answers)
	}
}

func (r *talkRun) say(word int) (string, error) {
	return r.tell(fmt.Sprint("say ", word), &loomv1.ConverseRequest{
		Conversation: r.id, Verb: &loomv1.ConverseRequest_Say{Say: &loomv1.SayInConversation{Text: fmt.Sprintf("This is word %d of the talk.", word)}},
	})
}

func (r *talkRun) tell(key string, q *loomv1.ConverseRequest) (id string, err error) {
	err = r.ask(func(ctx context.Context, c *client.Client) error {
		q.Project, q.Request = crowd, key
		answer, err := c.Converse(ctx, q)
		id = answer.GetConversation().GetId()
		return err
	})
	return id, err
}

func (r *talkRun) said(key string, q *loomv1.ConverseRequest) string {
	r.t.Helper()
	id, err := r.tell(key, q)
	if err != nil || id == "" {
		r.t.Fatalf("%s: %q, %v\n%s", key, id, err, r.host.text())
	}
	return id
}

// rests waits until so many words are heard and answered.
func (r *talkRun) rests(words int) {
	r.t.Helper()
	var now *loomv1.Conversation
	r.await(fmt.Sprintf("%d words are answered", words), func() bool {
		now = r.now()
		return now.GetState() == loomv1.ConversationState_CONVERSATION_STATE_RESTS && int(now.Replies) >= words
	})
	if int(now.Messages) != words || int(now.Replies) != words {
		r.t.Fatalf("of %d words %d are known, and %d answers", words, now.Messages, now.Replies)
	}
}

func (r *talkRun) now() (v *loomv1.Conversation) {
	_ = r.ask(func(ctx context.Context, c *client.Client) error { // it may be starting
		view, err := c.Conversation(ctx, &loomv1.Query{Project: crowd, Id: r.id})
		if err == nil {
			v = view.Conversations[0]
		}
		return err
	})
	return v
}

// judge looks for each word, each call and each answer in the transcript, once and in their
// order, and for what was kept.
func (r *talkRun) judge(words int) {
	r.t.Helper()
	c := r.host.client()
	defer c.Close()
	if len(r.lead.wrong) > 0 {
		r.t.Errorf("the model was not asked to reason as was set: %v", r.lead.wrong)
	}
	told, answered, memory := "", "", ""
	numbers, answers := "", ""
	for word := 1; word <= words; word++ {
		numbers += fmt.Sprintf(" %d", word)
		answers += fmt.Sprintf(" Heard word %d, and kept it.", word)
	}
	q := &loomv1.TranscriptRequest{Execution: r.now().Execution}
	err := c.FollowTranscript(deadline(r.t), q, false, func(e *loomv1.TranscriptEntry) error {
		switch e.Kind {
		case loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD:
			for _, hit := range spoken.FindAllStringSubmatch(e.Text, -1) {
				told += " " + hit[1]
			}
		case loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID:
			answered += " " + e.Text
		}
		return nil
	})
	if err != nil || told != numbers || answered != answers {
		r.t.Errorf("the transcript has the words%s and the answers%s, %v; want%s and%s", told, answered, err, numbers, answers)
	}
	v, err := c.Memory(deadline(r.t), &loomv1.Query{Project: crowd, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range v.Memories {
		if hit := keeps.FindStringSubmatch(e.Text); hit != nil {
			counts[hit[1]] += int(max(e.Count, 1))
		}
	}
	for word := 1; word <= words; word++ {
		memory += strings.Repeat(fmt.Sprintf(" %d", word), counts[strconv.Itoa(word)])
	}
	if memory != numbers {
		r.t.Errorf("kept are%s, want%s", memory, numbers)
	}
}
