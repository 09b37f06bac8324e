package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/cli/console"
)

// State is what the board shows.
type State struct {
	Host string
	// AgentsOnly is whether it only runs agents: the rows are what they work on.
	AgentsOnly bool
	Projects   []string
	Asks       []Ask // oldest first
	Waiting    int   // approvals that wait, also those that are not among the asks
	Mend       []string
	Paused     []string // projects that are
	Rows       []Row
	MicroUSD   uint64 // what models cost since the host began to serve
	Unpriced   bool   // and of some calls the price is not known
}

// Ask is something that waits for the person in front.
type Ask struct {
	ID, Kind, Bead, Question string
	At                       time.Time
}

// Row is an open bead.
type Row struct {
	ID, Goal string
	Stage    Stage
	Where    string // the node and who is at it, or what it waits for
	Since    time.Time
	Calls    bool // models were asked
	MicroUSD uint64
	Unpriced bool
}

// Stage is how far work is, in the order in which rows stand.
type Stage int

// The stages of work, by the words that all lists have for them.
const (
	Running Stage = iota
	Waiting
	Queued
	Parked
	Held
	Blocked
	Open
)

var stageWords = []string{"running", "waiting", "queued", "parked", "held", "blocked", "open"}

// Paint has a text in an ink, where there is colour.
type Paint func(ink console.Ink, text string) string

// Lines are a state on a screen of so many columns and rows: each line has fewer columns
// than the screen, and there are fewer lines than it has rows, unless it has one alone.
func Lines(s State, now time.Time, columns, rows int, paint Paint) []string {
	room, height := max(columns-1, 1), max(rows-1, 1)
	status := paint(console.Faint, console.Cut(statusOf(s, room), room))
	if height < 3 {
		return []string{status}
	}
	asks, work := askLines(s, now, room, paint), workLines(s, now, room, paint)
	first, second := share(len(asks), len(work), height-2)
	lines := []string{""}
	lines = append(lines, atMost(asks, first, room, paint)...)
	lines = append(lines, atMost(work, second, room, paint)...)
	return append(lines, status)
}

// share divides so many lines among two lists, of which neither has more than half while
// the other needs the rest.
func share(first, second, lines int) (int, int) {
	if first+second <= lines {
		return first, second
	}
	a := min(first, max(lines-second, (lines+1)/2))
	return a, min(second, lines-a)
}

// atMost are the first lines of a list, and how many there are beside them.
func atMost(list []string, n, room int, paint Paint) []string {
	if len(list) <= n {
		return list
	}
	if n == 0 {
		return nil
	}
	more := fmt.Sprintf("and %d more", len(list)-n+1)
	return append(slices.Clone(list[:n-1]), paint(console.Faint, console.Cut(more, room)))
}

func askLines(s State, now time.Time, room int, paint Paint) (lines []string) {
	for _, m := range s.Mend {
		lines = append(lines, paint(console.Bad, console.Cut(plainly(m), room)))
	}
	if len(s.Asks) == 0 {
		return lines
	}
	head := fmt.Sprintf("%s for you: loom inbox -i", one(s.Waiting, "waits", "wait"))
	lines = append(lines, paint(console.Waits, console.Cut(head, room)))
	rows := make([][]cell, 0, len(s.Asks))
	for _, a := range s.Asks {
		rows = append(rows, []cell{
			{plainly(a.ID), console.Waits},
			{age(a.At, now), console.Faint},
			{plainly(a.Kind), console.Plain},
			{plainly(a.Bead), console.Strong},
			{howTo(a), console.Plain},
			{plainly(a.Question), console.Faint},
		})
	}
	return append(lines, columnsOfRows(rows, room, 2, []int{2, 5, 3, 4}, paint)...)
}

// howTo is the command that answers what waits.
func howTo(a Ask) string {
	if a.Kind == askSession {
		return "loom pattern resume " + plainly(a.ID)
	}
	return "loom inbox " + plainly(a.ID)
}

// askSession is the kind of what a session of a pattern waits for.
const askSession = "session"

func workLines(s State, now time.Time, room int, paint Paint) []string {
	list := slices.Clone(s.Rows)
	slices.SortStableFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	rows := make([][]cell, 0, len(list))
	for _, r := range list {
		rows = append(rows, []cell{
			{plainly(r.ID), console.Strong},
			{plainly(r.Where), inkOf(r.Stage)},
			{age(r.Since, now), console.Faint},
			{costOf(r), console.Plain},
			{plainly(r.Goal), console.Plain},
		})
	}
	return columnsOfRows(rows, room, 1, []int{3, 4, 2, 1}, paint)
}

func inkOf(s Stage) console.Ink {
	switch s {
	case Running:
		return console.Good
	case Waiting:
		return console.Waits
	}
	return console.Faint
}

// statusOf is one line about the host: what fits of it, the most wanted first.
func statusOf(s State, room int) string {
	n := map[Stage]int{}
	for _, r := range s.Rows {
		n[r.Stage]++
	}
	var stages []string
	for i, word := range stageWords {
		if n[Stage(i)] > 0 {
			stages = append(stages, fmt.Sprintf("%d %s", n[Stage(i)], word))
		}
	}
	none, host := "no open work", "host "+s.Host
	if s.AgentsOnly {
		none, host = "no agent works", host+", agents only"
	}
	counts := cmp.Or(strings.Join(stages, ", "), none)
	parts := []string{counts}
	if len(s.Paused) > 0 { // nothing goes on by itself: that must not be what has no room
		parts = []string{"paused: " + strings.Join(s.Paused, ", "), counts}
		if console.Columns(plainly(parts[0])+" · "+counts) > room {
			parts[0] = "paused"
		}
	}
	parts = append(parts, money(s.MicroUSD, s.Unpriced)+" spent")
	if len(s.Projects) == 1 {
		parts = append(parts, s.Projects[0])
	} else {
		parts = append(parts, console.Count(len(s.Projects), "project"))
	}
	if s.Host != "" {
		parts = append(parts, host)
	}
	line := plainly(parts[0])
	for _, p := range parts[1:] {
		if longer := line + " · " + plainly(p); console.Columns(longer) <= room {
			line = longer
		}
	}
	return line
}

func costOf(r Row) string {
	if !r.Calls {
		return ""
	}
	return money(r.MicroUSD, r.Unpriced)
}

// money is an amount; what more it is of which no price is known, a "+" says.
func money(micro uint64, unpriced bool) string {
	text := fmt.Sprintf("$%.2f", float64(micro)/1e6)
	if unpriced {
		text += "+"
	}
	return text
}

// age is how long ago something was, with the digits that a glance needs.
func age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := max(now.Sub(t), 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// one is a number with its verb.
func one(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// ages says after how long the ages that are shown are others: never, where none is.
func (s State) ages(now time.Time) time.Duration {
	if len(s.Asks)+len(s.Rows) == 0 {
		return 0
	}
	young := func(t time.Time) bool { return now.Sub(t) < time.Minute }
	if slices.ContainsFunc(s.Asks, func(a Ask) bool { return young(a.At) }) || slices.ContainsFunc(s.Rows, func(r Row) bool { return young(r.Since) }) {
		return 5 * time.Second
	}
	return 30 * time.Second
}
