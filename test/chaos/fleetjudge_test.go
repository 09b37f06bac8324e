package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// judge holds the journal and the ledger against the promises.
func (f *fleet) judge(took time.Duration) {
	f.t.Helper()
	events := f.events(0, crowd)
	a := newAuditor()
	for _, e := range events {
		a.add(e)
	}
	a.end()
	runs := readLedger(f.t, f.places[0])
	a.ledger(runs)
	for _, problem := range a.told() {
		f.t.Error(problem)
	}
	if n := len(a.beads); n != *fleetOrders {
		f.t.Errorf("%d beads were filed for %d orders", n, *fleetOrders)
	}
	for _, h := range f.lives {
		for line := range strings.Lines(h.text()) {
			if strings.Contains(line, "DATA RACE") || strings.Contains(line, "quarantined") {
				f.t.Errorf("%s says: %s", h.place.data, line)
			}
		}
	}
	f.figures(events, runs, took)
}

// figures prints what was measured.
func (f *fleet) figures(events []*loomv1.Event, runs map[string][]uint64, took time.Duration) {
	steps, again := 0, 0
	for _, epochs := range runs {
		steps, again = steps+len(epochs), again+len(epochs)-1
	}
	f.t.Logf("%d orders, %d strikes %v, %d events, %d steps, %d run again, in %s",
		*fleetOrders, len(f.kills), f.struck(), len(events), steps, again, took.Round(time.Millisecond))
	for _, c := range []struct {
		how    string
		served bool
		what   string
	}{
		{killed, true, "kill of the host that served the orders"},
		{killed, false, "kill of a host that did not"},
		{slept, true, "sleep of the host that served them"},
		{apart, true, "partition of the host that served them"},
		{upgraded, true, "stop of the host that served them, to be upgraded"},
		{filled, true, "full disk of the host that served them"},
	} {
		f.phases(events, c.how, c.served, c.what)
	}
}

// struck counts strikes by what they were.
func (f *fleet) struck() map[string]int {
	count := map[string]int{}
	for _, k := range f.kills {
		count[k.how]++
	}
	return count
}

// phases prints how long after strikes of a kind each step of a take-over came.
func (f *fleet) phases(events []*loomv1.Event, how string, served bool, what string) {
	said := f.said()
	gaps := map[string][]time.Duration{}
	for _, k := range f.kills {
		if k.how != how || k.served != served {
			continue
		}
		for name, at := range map[string]time.Time{
			"next event": firstAfter(events, k.at), "host seen dead": said.after(k.at, "alive=false"),
			"lease taken": said.after(k.at, "lease acquired", "key=partition"),
		} {
			if !at.IsZero() {
				gaps[name] = append(gaps[name], at.Sub(k.at))
			}
		}
	}
	for _, name := range []string{"host seen dead", "lease taken", "next event"} {
		if list := gaps[name]; len(list) > 0 {
			slices.Sort(list)
			f.t.Logf("from the %s to %s: %d times, p50 %s, p90 %s, p99 %s, max %s", what, name, len(list),
				quantile(list, 50), quantile(list, 90), quantile(list, 99), quantile(list, 100))
		}
	}
}

// firstAfter is when the first event after a moment came; zero if none did.
func firstAfter(events []*loomv1.Event, at time.Time) time.Time {
	i := slices.IndexFunc(events, func(e *loomv1.Event) bool { return e.Time.AsTime().After(at) })
	if i < 0 {
		return time.Time{}
	}
	return events[i].Time.AsTime()
}

// saying is a line of a host's log.
type saying struct {
	at   time.Time
	line string
}

type sayings []saying

// said returns all lines that hosts logged, by time.
func (f *fleet) said() sayings {
	var list sayings
	for _, h := range f.lives {
		for line := range strings.Lines(h.text()) {
			var stamp string
			if _, err := fmt.Sscanf(line, "time=%s", &stamp); err != nil {
				continue
			}
			if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
				list = append(list, saying{at, line})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b saying) int { return a.at.Compare(b.at) })
	return list
}

// after is when the first line after a moment that has all words was logged.
func (s sayings) after(at time.Time, words ...string) time.Time {
	for _, l := range s {
		missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l.line, w) })
		if l.at.After(at) && !missing {
			return l.at
		}
	}
	return time.Time{}
}
