package projection_test

import (
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lockGrant is a grant of the commit lock, or a place in its holder's train.
type lockGrant struct {
	token     uint64
	execution string
	at        time.Time
	driver    int // place of the train's driver in the list; its own for a grant
	place     int
	taken     bool // by time, or by the CEO
}

// committed counts a commit that was made, or a landing, under a token.
func (b *books) committed(x *run, e *loomv1.Event, token uint64, c *loomv1.Candidate, late bool) {
	if c != nil {
		x.commits = append(x.commits, c)
	}
	var given, own *lockGrant
	for _, g := range b.grants {
		if g.token == token {
			given = g
		}
		if g.execution == e.GetExecution() && g.driver == g.place {
			own = g
		}
	}
	x.recorded++
	switch {
	case given == nil:
		if own == nil || token == 0 || token>>40 >= own.token>>40 {
			x.together++
		}
		return
	case c != nil && given.execution != e.GetExecution():
		x.together++
		return
	case !b.grants[given.driver].taken && (!late || given.execution != e.GetExecution()):
		return
	}
	from := given.driver // what was granted after that may have come in between
	if own != nil {
		from = max(from, own.place)
	}
	for _, g := range b.grants[from+1:] {
		if g.driver == g.place && g.execution != e.GetExecution() && g.at.Before(e.GetTime().AsTime()) {
			x.together++
			return
		}
	}
}

// took marks the grant of a token that was taken away.
func (b *books) took(token uint64) {
	for _, g := range b.grants {
		g.taken = g.taken || g.token == token
	}
}

// granted keeps a grant, or a place under the newest grant.
func (b *books) granted(e *loomv1.Event, token uint64, coupled bool) {
	g := &lockGrant{token: token, execution: e.GetExecution(), at: e.GetTime().AsTime(), place: len(b.grants), driver: len(b.grants)}
	for i, h := range b.grants {
		if coupled && h.driver == h.place {
			g.driver = i
		}
	}
	b.grants = append(b.grants, g)
}

// safetyOf says how safely runs have committed.
func safetyOf(runs []*run) []*loomv1.Target {
	var recorded, together, commits, attributed, hooked, passed int
	for _, r := range runs {
		recorded, together = recorded+r.recorded, together+r.together
		for _, c := range r.commits {
			commits++
			if c.GetAuthor() != "" && c.GetAuthor() == c.GetExpectedAuthor() && c.GetCommitter() == c.GetExpectedCommitter() {
				attributed++
			}
			if len(c.GetHooks()) == 0 {
				continue
			}
			hooked++
			good := 0
			for _, h := range c.GetHooks() {
				if !h.GetSkipped() && h.GetExitCode() == 0 {
					good++
				}
			}
			if good == len(c.GetHooks()) {
				passed++
			}
		}
	}
	var atOnce *float64
	if recorded > 0 {
		n := float64(together)
		atOnce = &n
	}
	return []*loomv1.Target{
		want("commits made by two agents at once", "=", 0, "commits", atOnce),
		want("commits with the right author", "=", 1, "ratio", part(attributed, commits)),
		want("commits that passed every hook", "=", 1, "ratio", part(passed, hooked)),
	}
}
