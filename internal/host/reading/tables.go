package reading

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Tables answer from a copy of the journals in SQLite, once it has all that the journals
// have: so a caller reads its own writes.
type Tables struct {
	*projection.DB
	Journals *journals.Set
	Projects *registry.Projects
}

// CaughtUp waits until the tables have what the journals have now of a project, or for ""
// of all.
func (t *Tables) CaughtUp(ctx context.Context, project string) error {
	for _, log := range t.Journals.Of(project) {
		last, _, err := log.Last(ctx)
		if err == nil {
			err = t.WaitFor(ctx, log.Partition(), last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Metrics answers how workflows fare.
func (t *Tables) Metrics(ctx context.Context, q *loomv1.MetricsRequest) (*loomv1.MetricsReply, error) {
	if err := t.check(q); err != nil {
		return nil, err
	}
	asOf := timestamppb.Now()
	if err := t.CaughtUp(ctx, q.Project); err != nil {
		return nil, err
	}
	if q.Process != "" {
		known, err := t.Processes(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, q.Process) {
			return nil, fault.New("process/unknown", "no project has had such a process").At("process").Got(q.Process).Want("%s", suggest.Among(q.Process, known))
		}
	}
	all, err := t.DB.Metrics(ctx, q)
	return &loomv1.MetricsReply{Workflows: all, AsOf: asOf}, err
}

// Cost answers what models cost.
func (t *Tables) Cost(ctx context.Context, q *loomv1.CostRequest) (*loomv1.CostReply, error) {
	if err := t.check(&loomv1.MetricsRequest{Project: q.Project, From: q.From, To: q.To}); err != nil {
		return nil, err
	}
	reply := &loomv1.CostReply{AsOf: timestamppb.Now(), Prices: price.AsOf}
	if err := t.CaughtUp(ctx, q.Project); err != nil {
		return nil, err
	}
	var err error
	reply.Costs, reply.Total, err = t.Costs(ctx, q)
	return reply, err
}

// check refuses what nothing would ever match.
func (t *Tables) check(q *loomv1.MetricsRequest) error {
	for name, value := range map[string]string{"project": q.Project, "process": q.Process} {
		if value == "" {
			continue
		}
		if _, err := subject.Parse(name, value); err != nil {
			return err
		}
	}
	if q.Project != "" && !t.Projects.Has(q.Project) {
		return t.Projects.Suggest(fault.New("project/unknown", "project is not known").At("project").Got(q.Project))
	}
	for name, at := range map[string]*timestamppb.Timestamp{"from": q.From, "to": q.To} {
		if at != nil && at.CheckValid() != nil {
			return fault.New("usage/argument", "not a time").At(name)
		}
	}
	if q.From != nil && q.To != nil && !q.From.AsTime().Before(q.To.AsTime()) {
		return fault.New("usage/argument", "the time ends before it begins").At("to").Got(q.To.AsTime().Format("2006-01-02T15:04:05Z07:00"))
	}
	return nil
}

// Behind says how far the tables are behind a journal of a host that runs, and for how
// long they have been.
func (t *Tables) Behind(partition int) (batches uint64, since time.Duration) {
	return t.Journals.Logs[partition].(*journals.Timed).Behind(t.Applied(partition))
}

// Lag says how far the tables are behind all journals of a host that runs.
func (t *Tables) Lag() *loomv1.TablesLag {
	all, most := &loomv1.TablesLag{}, time.Duration(0)
	for i := range t.Journals.Logs {
		batches, since := t.Behind(i)
		all.Batches, most = all.Batches+batches, max(most, since)
	}
	all.Since = durationpb.New(most)
	return all
}
