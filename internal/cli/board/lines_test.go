package board

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/cli/console"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func unpainted(_ console.Ink, text string) string { return text }

// full is a state with something of everything.
func full() State {
	return State{
		Host: "h-3tq7xw5mzk2nbd4e", Projects: []string{"shop"}, Waiting: 2, MicroUSD: 1_234_567,
		Asks: []Ask{
			{"shop-2", "approval", "shop-1", "Shall this change be committed? It is shown with its diff.", noon.Add(-3 * time.Minute)},
			{"shop-12", "permission", "shop-9", "May it fetch a module?", noon.Add(-20 * time.Second)},
		},
		Rows: []Row{
			{"shop-3", "Receipts show the wrong date", Queued, "triage is queued for qa-engineer", noon.Add(-time.Hour), false, 0, false},
			{"shop-1", "Orders of exactly 50.00 pay for shipping", Waiting, "approve waits for you", noon.Add(-3 * time.Minute), true, 120_000, false},
			{"shop-9", "日本の注文は送料を二重に払う", Running, "investigate by backend-engineer/1 (+1)", noon.Add(-2 * time.Minute), true, 20_000, true},
		},
	}
}

func pausedIn(s State) State {
	s.Paused = []string{"shop"}
	return s
}

// many is a state with so many of both.
func many(n int) State {
	s := State{Projects: []string{"bank", "shop"}, Waiting: n}
	for i := range n {
		s.Asks = append(s.Asks, Ask{ID: fmt.Sprintf("shop-%d", 100+i), Kind: "approval", At: noon})
		s.Rows = append(s.Rows, Row{ID: fmt.Sprintf("shop-%d", 10+i), Goal: "a goal", Where: "queued", Stage: Queued, Since: noon})
	}
	return s
}

func TestCLI01_ABoardOfAState(t *testing.T) {
	for _, tt := range []struct {
		name          string
		s             State
		columns, rows int
		want          string
	}{
		{"nothing to do", State{Projects: []string{"shop"}}, 80, 24, `

no open work · $0.00 spent · shop`},
		{"80 columns", full(), 80, 24, `

2 wait for you: loom inbox -i
shop-2   3m   approval    shop-1  loom inbox shop-2   Shall this change be com…
shop-12  20s  permission  shop-9  loom inbox shop-12  May it fetch a module?
shop-9  investigate by backend-enginee…  2m     $0.02+  日本の注文は送料を二重…
shop-1  approve waits for you            3m     $0.12   Orders of exactly 50.0…
shop-3  triage is queued for qa-engine…  1h00m          Receipts show the wron…
1 running, 1 waiting, 1 queued · $1.23 spent · shop · host h-3tq7xw5mzk2nbd4e`},
		{"40 columns", full(), 40, 24, `

2 wait for you: loom inbox -i
shop-2   3m   loom inbox shop-2
shop-12  20s  loom inbox shop-12
shop-9  investigate by…   2m     日本…
shop-1  approve waits f…  3m     Order…
shop-3  triage is queue…  1h00m  Recei…
1 running, 1 waiting, 1 queued · shop`},
		{"a paused project", State{Projects: []string{"bank", "shop"}, Paused: []string{"shop"}, Unpriced: true}, 80, 24, `

paused: shop · no open work · $0.00+ spent · 2 projects`},
		{"paused, in 40 columns", pausedIn(full()), 40, 4, `

and 3 more
paused · 1 running, 1 waiting, 1 queued`},
		{"what the operator has to mend", State{Mend: []string{"work waits for the operator: this host has no model\n[model/none]; start it with one"}}, 60, 24, `

work waits for the operator: this host has no model [model…
no open work · $0.00 spent · 0 projects`},
		{"more than there is room for", many(20), 60, 9, `

20 wait for you: loom inbox -i
shop-100  0s  approval  loom inbox shop-100
and 19 more
shop-10  queued  0s  a goal
shop-11  queued  0s  a goal
and 18 more
20 queued · $0.00 spent · 2 projects`},
		{"three rows", many(20), 60, 3, `
20 queued · $0.00 spent · 2 projects`},
	} {
		got := strings.Join(Lines(tt.s, noon, tt.columns, tt.rows, unpainted), "\n")
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// No line has as many columns as the screen, none steers it, and the board has fewer
// lines than the screen has rows, whatever is to be shown and however small it is.
func TestCLI01_ABoardFitsItsScreen(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z]{1,200}`), rapid.StringMatching(`[日本語e\x{301}🚀\x{fe0f} \n\x1b]{0,60}`))
	moments := rapid.Map(rapid.Int64Range(-1e7, 1e3), func(s int64) time.Time { return noon.Add(time.Duration(s) * time.Second) })
	rapid.Check(t, func(t *rapid.T) {
		s := State{
			Host: text.Draw(t, "host"), Projects: rapid.SliceOfN(text, 0, 3).Draw(t, "projects"), Paused: rapid.SliceOfN(text, 0, 3).Draw(t, "paused"),
			Mend: rapid.SliceOfN(text, 0, 2).Draw(t, "mend"), Waiting: rapid.IntRange(0, 1e6).Draw(t, "waiting"), MicroUSD: rapid.Uint64().Draw(t, "cost"),
		}
		for range rapid.IntRange(0, 9).Draw(t, "asks") {
			s.Asks = append(s.Asks, Ask{text.Draw(t, "id"), text.Draw(t, "kind"), text.Draw(t, "bead"), text.Draw(t, "question"), moments.Draw(t, "at")})
		}
		for range rapid.IntRange(0, 9).Draw(t, "beads") {
			s.Rows = append(s.Rows, Row{
				text.Draw(t, "id"), text.Draw(t, "goal"), Stage(rapid.IntRange(0, 2).Draw(t, "stage")), text.Draw(t, "where"), moments.Draw(t, "since"),
				rapid.Bool().Draw(t, "calls"), rapid.Uint64().Draw(t, "cost"), rapid.Bool().Draw(t, "unpriced"),
			})
		}
		columns, rows := rapid.IntRange(1, 140).Draw(t, "columns"), rapid.IntRange(1, 40).Draw(t, "rows")
		paint := func(ink console.Ink, text string) string { return "\x1b[" + string(ink) + "m" + text + "\x1b[0m" }
		lines := Lines(s, noon, columns, rows, paint)
		if len(lines) > max(rows-1, 1) {
			t.Fatalf("%d lines on %d rows", len(lines), rows)
		}
		for _, l := range lines {
			if n := console.Columns(l); n > max(columns-1, 1) {
				t.Fatalf("%d columns of %d: %q", n, columns, l)
			}
			if bare := painted.ReplaceAllString(l, ""); strings.ContainsAny(bare, "\x1b\n\r\a\t") {
				t.Fatalf("a line steers the terminal: %q", l)
			}
		}
	})
}

func TestCLI01_HowLongAgo(t *testing.T) {
	for _, tt := range []struct {
		ago  time.Duration
		want string
	}{
		{-time.Second, "0s"},
		{59*time.Second + 999*time.Millisecond, "59s"},
		{time.Minute, "1m"},
		{time.Hour - 1, "59m"},
		{time.Hour + 5*time.Minute, "1h05m"},
		{24 * time.Hour, "1d"},
	} {
		if got := age(noon.Add(-tt.ago), noon); got != tt.want {
			t.Errorf("age(%s) = %q, want %q", tt.ago, got, tt.want)
		}
	}
	if got := age(time.Time{}, noon); got != "" {
		t.Errorf("a time that is not known is %q ago", got)
	}
}

func TestCLI01_AgesAreDrawnNoOftenerThanTheyAreOthers(t *testing.T) {
	for _, tt := range []struct {
		s    State
		want time.Duration
	}{
		{State{}, 0},
		{State{Rows: []Row{{Since: noon.Add(-59 * time.Second)}}}, 5 * time.Second},
		{State{Asks: []Ask{{At: noon.Add(-time.Minute)}}}, 30 * time.Second},
	} {
		if got := tt.s.ages(noon); got != tt.want {
			t.Errorf("ages of %v: %s, want %s", tt.s, got, tt.want)
		}
	}
}

// painted is what a line is coloured with.
var painted = regexp.MustCompile("\x1b\\[[0-9;]*m")
