package projection

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/loomrun/loom/internal/core/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// granted keeps who was given the commit lock, or a place in its holder's train, and
// from whom it was taken away. A holder that gives it back has done its work.
func (w *writer) granted(ctx context.Context, e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_LockGranted:
		token := int64(f.LockGranted.GetToken())
		return w.exec(ctx, "grant", e.Project, token, token, e.Execution, clock(e.Time))
	case *loomv1.Event_LockCoupled:
		return w.exec(ctx, "place", e.Project, int64(f.LockCoupled.GetToken()), e.Project, e.Execution, clock(e.Time))
	case *loomv1.Event_LockExpired:
		return w.exec(ctx, "taken", e.Project, int64(f.LockExpired.GetToken()))
	case *loomv1.Event_LockReleased:
		if e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO {
			return w.exec(ctx, "taken", e.Project, int64(f.LockReleased.GetToken()))
		}
		return nil
	}
	return misplaced(e)
}

// committed keeps what an event says of a commit that was made, or has landed.
func (w *writer) committed(ctx context.Context, e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_CandidateMade:
		return w.candidate(ctx, e, f.CandidateMade.GetCandidate())
	case *loomv1.Event_TrainTested:
		if c := f.TrainTested.GetCar(); c.GetCandidate().GetCommit() != c.GetVerified() { // else it was made before
			return w.candidate(ctx, e, c.GetCandidate())
		}
		return nil
	case *loomv1.Event_Landed:
		return w.landing(ctx, e, f.Landed.GetLanding(), false)
	case *loomv1.Event_LandingSettled:
		return w.landing(ctx, e, f.LandingSettled.GetLanding(), true)
	}
	return misplaced(e)
}

// candidate keeps a commit that Loom has made.
func (w *writer) candidate(ctx context.Context, e *loomv1.Event, c *loomv1.Candidate) error {
	if c.GetCommit() == "" || c.GetPresent() {
		return nil
	}
	grant, err := w.grantOf(ctx, e.Project, c.GetToken())
	if err != nil {
		return err
	}
	together := grant.known && grant.execution != e.Execution
	if !together {
		if together, err = w.overtaken(ctx, e, c.GetToken(), grant); err != nil {
			return err
		}
	}
	attributed := c.GetAuthor() != "" && c.GetAuthor() == c.GetExpectedAuthor() && c.GetCommitter() == c.GetExpectedCommitter()
	return w.exec(ctx, "commit", e.Project, e.Number, e.Execution, c.GetCommit(), int64(c.GetToken()), together, attributed, passedHooks(c))
}

// landing keeps a commit's way to the target. Those of a train land under a place of
// the last one, and of what has landed before under the grant of who has found it.
// One whose attempt had ended, and that its own agent tells of, went on without the lock.
func (w *writer) landing(ctx context.Context, e *loomv1.Event, l *loomv1.Landing, ended bool) error {
	if l == nil {
		return nil
	}
	grant, err := w.grantOf(ctx, e.Project, l.GetToken())
	if err != nil {
		return err
	}
	grant.taken = grant.taken || ended && grant.execution == e.Execution
	together, err := w.overtaken(ctx, e, l.GetToken(), grant)
	if err != nil {
		return err
	}
	return w.exec(ctx, "commit", e.Project, e.Number, e.Execution, l.GetCommit(), int64(l.GetToken()), together, nil, nil)
}

// grant is what is known of the grant that a token comes of.
type grant struct {
	known     bool
	under     int64
	execution string
	taken     bool
}

func (w *writer) grantOf(ctx context.Context, project string, token uint64) (g grant, err error) {
	err = w.query(ctx, "grant of").QueryRowContext(ctx, project, int64(token)).Scan(&g.under, &g.execution, &g.taken)
	if errors.Is(err, sql.ErrNoRows) {
		return grant{}, nil
	}
	g.known = err == nil
	return g, err
}

// overtaken says whether what was done under a grant may have been done while another
// execution had the lock: the grant was taken away, and another was granted the lock
// before an event records it. A grant of the execution's own since then makes up for
// it: under that one it has found again what it did.
//
// A token that the journal does not know is one that nobody was granted; but after a
// restore of what it has lost an execution finds its commits of an earlier epoch.
func (w *writer) overtaken(ctx context.Context, e *loomv1.Event, token uint64, g grant) (bool, error) {
	var own int64
	if err := w.query(ctx, "own grant").QueryRowContext(ctx, e.Execution).Scan(&own); err != nil {
		return false, err
	}
	if !g.known {
		lost := token > 0 && commitlock.Epoch(token) < commitlock.Epoch(uint64(own))
		return !lost, nil
	}
	if !g.taken {
		return false, nil
	}
	var others bool
	err := w.query(ctx, "granted since").QueryRowContext(ctx, e.Project, max(own, g.under), e.Execution, clock(e.Time)).Scan(&others)
	return others, err
}

// passedHooks says whether each hook ran and passed, nil where there is none.
func passedHooks(c *loomv1.Candidate) any {
	if len(c.GetHooks()) == 0 {
		return nil
	}
	return !slices.ContainsFunc(c.Hooks, func(h *loomv1.HookResult) bool { return h.GetSkipped() || h.GetExitCode() != 0 })
}

// safety is how the commits of a process were made.
type safety struct {
	recorded, atOnce  uint64 // commits and landings
	made, attributed  uint64 // commits
	passed, withHooks uint64
}

const safetyQuery = ` SELECT x.process, count(*), sum(c.at_once), count(c.attributed), coalesce(sum(c.attributed), 0),
		coalesce(sum(c.passed), 0), count(c.passed)
	FROM chosen x JOIN commits c ON c.execution_id = x.id GROUP BY x.process`

func (m *measurer) safety(ctx context.Context) error {
	return m.each(ctx, safetyQuery, func(scan func(...any) error) error {
		name, s := "", safety{}
		err := scan(&name, &s.recorded, &s.atOnce, &s.made, &s.attributed, &s.passed, &s.withHooks)
		if p := m.processes[name]; p != nil {
			p.safety = s
		}
		return err
	})
}

// targets are those of commit safety.
func (s safety) targets() []*loomv1.Target {
	var atOnce *float64
	if s.recorded > 0 {
		n := float64(s.atOnce)
		atOnce = &n
	}
	return []*loomv1.Target{
		target("commits made by two agents at once", "=", 0, "commits", atOnce),
		target("commits with the right author", "=", 1, "ratio", ratio(s.attributed, s.made)),
		target("commits that passed every hook", "=", 1, "ratio", ratio(s.passed, s.withHooks)),
	}
}
