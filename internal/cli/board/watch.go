package board

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// From is which host is shown, and from which moment of the journal on.
type From struct {
	Host string
	At   time.Time
}

// How often a host is read.
const (
	costPace = 5 * time.Second // a bead of which models were asked alone
	again    = 2 * time.Second // one that did not answer
)

// mostRead is how many beads are read at once; the others are read after a pace.
const mostRead = 40

// mostAsks is how many of the approvals that wait are read: no screen has more rows.
const mostAsks = 100

// watch follows a host.
type watch struct {
	*Board
	host   *client.Client
	teller *teller
	query  *loomv1.NoticesRequest

	state State
	rows  map[string]*entry
	whole bool // all is to be read anew: the beginning, or a host that was away
	inbox bool // what waits is to be read anew
	pause bool // what is paused is
}

// entry is an open bead, and when it is to be read again; never, at the zero time.
type entry struct {
	row Row
	due time.Time
}

func newWatch(b *Board, c *client.Client, from From) *watch {
	w := &watch{Board: b, host: c, rows: map[string]*entry{}, whole: true, state: State{Host: from.Host}, query: &loomv1.NoticesRequest{Since: timestamppb.New(from.At)}}
	if w.query.Kinds, w.teller = told, newTeller(told); b.tty != nil {
		w.query.Kinds, w.teller = changing, newTeller(lasting)
	}
	return w
}

// run shows what the host does until ctx ends.
func (w *watch) run(ctx context.Context) {
	wake, stop, err := w.host.Wakes(w.query.Kinds...)
	if err != nil {
		return
	}
	defer stop()
	w.follow(ctx, w, wake)
}

// lastWithin bounds what is read at the end, for which a host waits before it stops.
const lastWithin = time.Second

// last says what has happened up to the end.
func (w *watch) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
	defer cancel()
	_ = w.notices(ctx) // a host that has gone has said what it could
}

// look reads what has happened, and returns after how long to look again if no notice
// comes.
func (w *watch) look(ctx context.Context) time.Duration {
	if err := w.read(ctx); err != nil {
		w.whole = true
		return again
	}
	return w.ages()
}

// ages is how long the board can stand as it is.
func (w *watch) ages() time.Duration {
	wait, now := lookAt, time.Now()
	if a := w.state.ages(now); a > 0 {
		wait = min(wait, a)
	}
	for _, e := range w.rows {
		if !e.due.IsZero() {
			wait = min(wait, max(pace, e.due.Sub(now)))
		}
	}
	return wait
}

// read takes the notices that there are, and reads what they are about.
func (w *watch) read(ctx context.Context) error {
	if w.whole {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if err := w.notices(ctx); err != nil {
		return err
	}
	if w.tty == nil {
		return nil
	}
	return cmp.Or(w.readInbox(ctx), w.readPauses(ctx), w.readRows(ctx))
}

// notices takes the notices that there are.
func (w *watch) notices(ctx context.Context) error {
	for {
		page, err := w.host.Notices(ctx, w.query)
		if err != nil {
			return err
		}
		w.query.After = cmp.Or(page.GetNext(), w.query.After)
		for _, n := range page.GetNotices() {
			w.take(n)
		}
		if page.GetEnd() {
			return nil
		}
	}
}

// begin reads all that is open.
func (w *watch) begin(ctx context.Context) error {
	h, err := w.host.Hosts(ctx, &loomv1.HostsRequest{})
	if err != nil {
		return err
	}
	w.teller.alone = len(h.GetHosts()) == 1
	if w.tty == nil {
		return w.beginLines(ctx)
	}
	about, err := w.host.Project(ctx, &loomv1.Query{})
	if err != nil {
		return err
	}
	w.state.Projects = nil
	for _, p := range about.GetProjects() {
		w.state.Projects = append(w.state.Projects, p.GetId())
	}
	rows := map[string]*entry{}
	for _, status := range openStatuses {
		v, err := w.host.List(ctx, w.host.Bead, &loomv1.Query{Filter: project.Word(status), Limit: project.MaxListed})
		if err != nil {
			return err
		}
		for _, b := range v.GetBeads() {
			if open(b) {
				rows[b.Id] = &entry{rowOf(b, nil, nil), time.Now()}
			}
		}
	}
	w.rows, w.whole, w.inbox, w.pause = rows, false, true, true
	return nil
}

// beginLines says what waits at the beginning, of which no notice comes any more.
func (w *watch) beginLines(ctx context.Context) error {
	v, err := w.host.Inbox(ctx, &loomv1.Query{Limit: 1, Newest: true})
	if err != nil {
		return err
	}
	if n := max(int(v.GetWaiting()), len(v.GetApprovals())) + len(v.GetSessions()); n > 0 && !w.console.JSON {
		w.say(fmt.Sprintf("%s for you: loom inbox -i\n", one(n, "waits", "wait")))
	}
	w.whole = false
	return nil
}

// take notes what a notice changes, and says what of it is to be said.
func (w *watch) take(n *loomv1.Notice) {
	if w.teller.tells(n) {
		w.tell(w.teller, n)
	}
	if w.tty == nil {
		return
	}
	e := n.GetEvent()
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ModelAnswered:
		used := f.ModelAnswered.GetAnswer().GetUsage()
		w.state.MicroUSD += used.GetCostMicroUsd()
		w.state.Unpriced = w.state.Unpriced || !used.GetCostKnown()
		w.due(e.GetBead(), costPace)
		return
	case *loomv1.Event_WorkPaused, *loomv1.Event_WorkResumed:
		w.pause = true
		for id := range w.rows {
			w.due(id, 0)
		}
	case *loomv1.Event_ProjectRegistered, *loomv1.Event_ProjectRemoved:
		w.whole = true
	}
	w.inbox = true
	w.due(e.GetBead(), 0)
}

// due has a bead be read after so long.
func (w *watch) due(id string, after time.Duration) {
	if id == "" {
		return
	}
	at := time.Now().Add(after)
	e := w.rows[id]
	if e == nil {
		e = &entry{}
		w.rows[id] = e
	}
	if e.due.IsZero() || at.Before(e.due) {
		e.due = at
	}
}

func (w *watch) readInbox(ctx context.Context) error {
	if !w.inbox {
		return nil
	}
	v, err := w.host.Inbox(ctx, &loomv1.Query{Limit: mostAsks, Oldest: true})
	if err != nil {
		return err
	}
	takeInbox(&w.state, v)
	w.inbox = false
	return nil
}

func (w *watch) readPauses(ctx context.Context) error {
	if !w.pause {
		return nil
	}
	v, err := w.host.Pause(ctx, &loomv1.Query{})
	if err != nil {
		return err
	}
	w.state.Paused, w.pause = pausedProjects(v), false
	return nil
}

// readRows reads the beads that are due, those first that have waited longest.
func (w *watch) readRows(ctx context.Context) error {
	now := time.Now()
	ids := slices.SortedFunc(maps.Keys(w.rows), func(a, b string) int {
		return cmp.Or(w.rows[a].due.Compare(w.rows[b].due), cmp.Compare(a, b))
	})
	ids = slices.DeleteFunc(ids, func(id string) bool { return w.rows[id].due.IsZero() || w.rows[id].due.After(now) })
	for _, id := range ids[:min(len(ids), mostRead)] {
		if err := w.readRow(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) readRow(ctx context.Context, id string) error {
	v, err := w.host.Bead(ctx, &loomv1.Query{Project: project.Of(id), Id: id})
	if fault.Code(err) == "bead/unknown" || err == nil && !open(v.GetBeads()[0]) {
		delete(w.rows, id)
		return nil
	}
	if err != nil {
		return err
	}
	b, x := v.Beads[0], &loomv1.View{}
	if b.GetExecution() != "" {
		if x, err = w.host.Execution(ctx, &loomv1.Query{Project: b.GetProject(), Id: b.GetExecution()}); err != nil {
			return err
		}
	}
	var run *loomv1.Execution
	if len(x.GetExecutions()) > 0 {
		run = x.Executions[0]
	}
	w.rows[id] = &entry{row: rowOf(b, run, x.GetTree())}
	return nil
}

// now is the state with its rows.
func (w *watch) now() State {
	s := w.state
	for _, id := range slices.Sorted(maps.Keys(w.rows)) {
		if r := w.rows[id].row; r.ID != "" {
			s.Rows = append(s.Rows, r)
		}
	}
	return s
}
