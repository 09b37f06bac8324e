package errand

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// others is the work of a data directory that is not this errand's: it had not ended when
// the goal was filed. Its agents do nothing, and no model is asked for it, as long as the
// errand's host runs.
type others struct {
	known chan struct{} // closed when ids is what it is
	ids   map[string]bool
}

// held says whether a bead's work waits. It blocks until that is known, or ctx ends.
func (o *others) held(ctx context.Context, bead string) bool {
	select {
	case <-o.known:
		return o.ids[bead]
	case <-ctx.Done():
		return true
	}
}

// hold has all of unfinished wait but a bead and what works for it, and returns those that
// do not work for another.
func (o *others) hold(unfinished []*loomv1.Bead, bead string) (tops []*loomv1.Bead) {
	own := map[string]bool{bead: true}
	for more := true; more; {
		more = false
		for _, b := range unfinished {
			if !own[b.Id] && (own[b.Parent] || own[b.About]) {
				own[b.Id], more = true, true
			}
		}
	}
	o.ids = map[string]bool{}
	for _, b := range unfinished {
		if own[b.Id] || b.After != "" { // what is done after an end goes on with any run
			continue
		}
		o.ids[b.Id] = true
		if b.Type != loomv1.BeadType_BEAD_TYPE_APPROVAL && b.Parent == "" {
			tops = append(tops, b)
		}
	}
	close(o.known)
	return tops
}

// unfinished are the beads of the data directory that have not ended, oldest first in each
// project.
func (e *errand) unfinished(ctx context.Context) (all []*loomv1.Bead, err error) {
	about, err := e.client.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return nil, err
	}
	for _, id := range about.Projects {
		var beads []*loomv1.Bead
		for _, status := range []string{"open", "in_progress", "waiting", "blocked"} {
			q := &loomv1.Query{Project: id, Filter: status, Limit: project.MaxListed}
			for more := true; more; more = q.After != "" {
				v, err := e.client.Bead(ctx, q)
				if err != nil {
					return nil, err
				}
				beads, q.After = append(beads, v.Beads...), v.Next
			}
		}
		slices.SortFunc(beads, func(a, b *loomv1.Bead) int { return a.CreatedAt.AsTime().Compare(b.CreatedAt.AsTime()) })
		all = append(all, beads...)
	}
	return all, nil
}
