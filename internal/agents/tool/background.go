package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
)

// maxBackground is how many background processes there can be that run, or have
// output that was not read.
const maxBackground = 4

var process = &tool{
	Spec: Spec{
		Name: "process",
		// It starts nothing: what it reads is gone with the host, and to stop what
		// has ended changes nothing.
		Class:       reads,
		Description: "What a background command wrote since the last look, and whether it runs. All end with your turn.",
		Schema: schema(`"id"`, `
			"id": {"type": "string", "minLength": 1, "maxLength": 200},
			"wait_seconds": {"type": "integer", "minimum": 0, "maximum": 3600, "description": "for its end"},
			"stop": {"type": "boolean"}`),
	},
	needs: sandboxed("commands"),
	run:   with(lookAtProcess),
}

// background is the processes that the calls of a turn have left running.
type background struct {
	mu   sync.Mutex
	list []*running // in the order in which they were started
}

// running is a background process, also after its end.
type running struct {
	id     string // of the call that started it
	since  time.Time
	output *capture
	cancel context.CancelFunc

	done    chan struct{} // closed at its end
	ended   outcome       // without output; set before done is closed
	failed  error         // why it was never started; set before done is closed
	stopped string        // why it was ended from here; set before it is, by who has the lock
}

// add takes one more process, or says which are in its way.
func (b *background) add(p *running) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var busy []string
	for _, other := range b.list {
		if other.runs() || other.output.unread() > 0 {
			busy = append(busy, other.id)
		}
	}
	if len(busy) >= maxBackground {
		return fault.New("tool/too-large", "%d background processes run or have output that you did not read; there can be %d", len(busy), maxBackground).
			Want("stop or read one of %s with process", strings.Join(busy, ", "))
	}
	b.list = append(b.list, p)
	return nil
}

// drop forgets a process that was never started.
func (b *background) drop(p *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = slices.DeleteFunc(b.list, func(other *running) bool { return other == p })
}

func (b *background) find(id string) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.list {
		if p.id == id {
			return p
		}
	}
	return nil
}

// stop ends processes that run, with all that they started, and returns when they
// are gone.
func (b *background) stop(why string, list ...*running) {
	b.mu.Lock()
	for _, p := range list {
		if p.runs() && p.stopped == "" {
			p.stopped = why
		}
	}
	b.mu.Unlock()
	for _, p := range list {
		p.cancel()
	}
	for _, p := range list {
		<-p.done
	}
}

// why says why a process was ended from here; empty if it was not.
func (b *background) why(p *running) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.stopped
}

// EndProcesses ends all background processes, with all that they started, and
// returns when they are gone.
func (s *Set) EndProcesses() {
	s.background.mu.Lock()
	list := slices.Clone(s.background.list)
	s.background.mu.Unlock()
	s.background.stop("ended when you called finish", list...)
}

func (p *running) runs() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// started is how the result of a call begins that left a process running. A host
// that takes the turn over knows by it that there was one.
func started(id string) string { return "runs in the background as process " + id + "\n" }

// start runs a command that goes on after the call.
func (j job) start(ctx context.Context, a shellArguments) (Result, error) {
	limits, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if a.Seconds > 0 {
		limits, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Duration(a.Seconds)*time.Second)
	}
	p := &running{id: j.id, since: time.Now(), output: newCapture(mostWritten, drained, nil), cancel: cancel, done: make(chan struct{})}
	if err := j.background.add(p); err != nil {
		cancel()
		return Result{}, err
	}
	begun := make(chan struct{})
	go func() {
		defer close(p.done)
		defer cancel()
		p.ended, p.failed = j.beside(limits, a.Command, p.output, func() { close(begun) })
	}()
	select {
	case <-begun:
	case <-p.done:
		if p.failed != nil {
			j.background.drop(p)
			return Result{}, p.failed
		}
	}
	r := done(started(j.id)+"[process reads what it writes, waits for its end and stops it; it ends with your turn]\n", "runs in the background")
	if j.ws.Exec.Contain != nil {
		r.Output += "[commands in the sandbox reach each other's ports only where your role has the host's network]\n"
	}
	r.Ran = j.ws.Exec.Ran
	return r, nil
}

// beside runs a command beside others to its end.
func (s *Set) beside(ctx context.Context, line string, output *capture, begun func()) (outcome, error) {
	home, err := s.home("home")
	if err != nil {
		return outcome{}, err
	}
	defer discard.All(home)
	kept := s.kept()
	if s.ws.Exec.Contain != nil && s.ws.Exec.Beside != nil {
		changes, err := s.home("cache")
		if err != nil {
			return outcome{}, err
		}
		defer discard.All(changes)
		kept = contained(s.ws.Exec.Beside(changes))
	}
	return kept.run(ctx, command{
		argv: kept.script(line), dir: s.ws.Root, more: []string{home}, env: environment(home, s.ws.Exec.Env), output: output, begun: begun,
	})
}

type processArguments struct {
	ID      string `json:"id"`
	Seconds int    `json:"wait_seconds"`
	Stop    bool   `json:"stop"`
}

func lookAtProcess(ctx context.Context, j job, a processArguments) (Result, error) {
	p := j.background.find(a.ID)
	if p == nil {
		return j.lost(ctx, a.ID)
	}
	if a.Stop {
		j.background.stop("stopped", p)
	}
	if a.Seconds > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(a.Seconds)*time.Second)
		defer cancel()
		select {
		case <-p.done:
		case <-limited.Done():
		}
	}
	if p.runs() {
		text := plain(p.output.take(false))
		// The time tells one who waits from one who goes round in circles.
		return done(fmt.Sprintf("%s%s%s[it runs, %d s so far]\n", text, newline(text), j.remarks(""), time.Since(p.since)/time.Second), "process %s runs", a.ID), nil
	}
	out := p.ended
	out.text = p.output.take(true)
	out.text += j.remarks(out.text)
	if why := j.background.why(p); why != "" {
		text := plain(out.text)
		return done(text+newline(text)+"["+why+"]\n", "process %s: %s", a.ID, why), nil
	}
	return told(out), nil
}

// newline is what ends the last line of a text, if it does not itself.
func newline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return ""
	}
	return "\n"
}

// lost tells of a process that does not run here.
func (j job) lost(ctx context.Context, id string) (Result, error) {
	if j.ws.Outputs != nil {
		if text, err := j.ws.Outputs(ctx, id); err == nil && strings.HasPrefix(text, started(id)) {
			return done(fmt.Sprintf("[process %s ended with the host that ran it, or while your turn waited for others; "+
				"what you have not read of its output is lost; start it again if you need it]\n", id), "process %s ended with its host", id), nil
		}
	}
	return Result{}, fault.New("tool/not-found", "no process of this id").At("id").Got(id).Want("it is in the result of shell with background")
}
