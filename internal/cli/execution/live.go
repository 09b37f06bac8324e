package execution

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writings prints events, and between them what models write, a line at a time.
type writings struct {
	*Commands
	about *loomv1.NoticesRequest
	alone bool // there is one host, which is not named

	mu    sync.Mutex
	begun map[string]string // the line that an agent has begun, by bead and agent
}

// project is the project that the events are of, "" for all.
func (w *writings) project() string {
	return cmp.Or(w.about.Project, project.Of(cmp.Or(w.about.Bead, w.about.Execution, w.about.Team)))
}

// wants reports whether what a model writes is among what was asked for. It carries
// neither host nor team, nor the execution: that is one of its bead's.
func (w *writings) wants(l *loomv1.Writing) bool {
	q := w.about
	switch {
	case q.Host != "" || q.Team != "", len(q.Kinds) > 0 && !slices.Contains(q.Kinds, "model-answered"):
		return false
	case q.Bead != "" && q.Bead != l.Bead, q.Execution != "" && !strings.HasPrefix(q.Execution, l.Bead+"-"):
		return false
	case q.Role != "" && q.Role != l.Role, q.Agent != "" && q.Agent != strings.Replace(l.Agent, "/", "-", 1):
		return false
	}
	return true
}

// hear takes what a model has written since.
func (w *writings) hear(l *loomv1.Writing) {
	if !w.wants(l) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	who := l.Bead + " " + l.Agent
	lines := strings.Split(w.begun[who]+strings.ToValidUTF8(l.Text, "\uFFFD"), "\n")
	last := len(lines) - 1
	for _, line := range lines[:last] {
		w.line(who, line)
	}
	if w.begun[who] = lines[last]; len(lines[last]) > longestLine {
		w.end(who)
	}
}

// longestLine is how many bytes of a line are waited for.
const longestLine = 2000

// end prints a line that was begun.
func (w *writings) end(who string) {
	w.line(who, w.begun[who])
	delete(w.begun, who)
}

func (w *writings) line(who, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(w.Out, "%-12s %s  %-20s %s: %s\n", "-", time.Now().Format("15:04:05.000"), "live", who, console.Line(text, longestLine))
}

// event prints an event, after what its agent had begun to write.
func (w *writings) event(n *loomv1.Notice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	agent, _, _ := strings.Cut(n.Event.GetActor().GetName(), "@")
	if who := n.Event.GetBead() + " " + agent; w.begun[who] != "" {
		w.end(who)
	}
	return w.Event(n, w.alone)
}
