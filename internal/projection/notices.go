package projection

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	pageSize     = 200
	mostPageSize = 1000
)

// Notices returns the notices after a cursor, at most req.Limit: those of one
// partition in their order, those of several merged by time. Their events have
// number, time and ids, and no fact; the journal has it whole. A reader that
// goes on at Next sees every notice once. A batch that is not applied yet is
// not there yet, see [DB.WaitFor].
func (d *DB) Notices(ctx context.Context, req *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = pageSize
	}
	limit = min(limit, mostPageSize)
	partitions, err := list(ctx, d.read, "read the partitions", scanPartition, "SELECT partition FROM positions ORDER BY partition")
	if err != nil {
		return nil, err
	}
	next := cursor(req.GetAfter())
	var pages [][]*loomv1.Notice
	for _, p := range partitions {
		page, err := d.page(ctx, p, next[p], req, limit+1)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	notices := merge(pages, limit)
	for _, n := range notices {
		next[n.Position.Partition] = n.Position
	}
	return &loomv1.NoticesReply{Notices: notices, Next: uncursor(next), End: len(notices) == count(pages)}, nil
}

// page reads the notices of one partition.
func (d *DB) page(ctx context.Context, partition uint32, after *loomv1.Position, req *loomv1.NoticesRequest, limit int) ([]*loomv1.Notice, error) {
	where := []string{"partition = ?"}
	args := []any{partition}
	if after != nil {
		where = append(where, "(epoch, seq, idx) > (?, ?, ?)")
		args = append(args, after.Epoch, after.Sequence, after.Index)
	}
	bead := req.GetBead()
	if bead == "" && req.GetExecution() != "" { // an execution's notices are found by its bead
		where = append(where, "bead = (SELECT bead_id FROM workflow_executions WHERE id = ?)")
		args = append(args, req.GetExecution())
	}
	for _, f := range []struct{ column, value string }{{"project", req.GetProject()}, {"bead", bead}, {"execution", req.GetExecution()}} {
		if f.value != "" {
			where = append(where, f.column+" = ?")
			args = append(args, f.value)
		}
	}
	query := "SELECT partition, epoch, seq, idx, time, project, bead, execution, kind, summary, number FROM notices WHERE " +
		strings.Join(where, " AND ") + " ORDER BY epoch, seq, idx LIMIT ?"
	return list(ctx, d.read, "read notices", scanNotice, query, append(args, limit)...)
}

func scanPartition(rows *sql.Rows) (p uint32, err error) { return p, rows.Scan(&p) }

func scanNotice(rows *sql.Rows) (*loomv1.Notice, error) {
	p, e, at := &loomv1.Position{}, &loomv1.Event{}, ""
	n := &loomv1.Notice{Position: p, Event: e}
	err := rows.Scan(&p.Partition, &p.Epoch, &p.Sequence, &p.Index, &at, &e.Project, &e.Bead, &e.Execution, &n.Kind, &n.Summary, &e.Number)
	if err != nil {
		return nil, err
	}
	e.Time, err = unclock(at)
	return n, err
}

// merge takes the earliest of the pages' heads, limit times; a page's own order
// is kept whatever its times are.
func merge(pages [][]*loomv1.Notice, limit int) []*loomv1.Notice {
	pages = slices.Clone(pages)
	var merged []*loomv1.Notice
	for len(merged) < limit {
		earliest := -1
		for i, page := range pages {
			if len(page) > 0 && (earliest < 0 || before(page[0], pages[earliest][0])) {
				earliest = i
			}
		}
		if earliest < 0 {
			break
		}
		merged = append(merged, pages[earliest][0])
		pages[earliest] = pages[earliest][1:]
	}
	return merged
}

func before(a, b *loomv1.Notice) bool {
	return a.Event.Time.AsTime().Before(b.Event.Time.AsTime())
}

func count(pages [][]*loomv1.Notice) (n int) {
	for _, page := range pages {
		n += len(page)
	}
	return n
}

func cursor(c *loomv1.Cursor) map[uint32]*loomv1.Position {
	m := map[uint32]*loomv1.Position{}
	for _, p := range c.GetPositions() {
		m[p.GetPartition()] = proto.CloneOf(p)
	}
	return m
}

func uncursor(m map[uint32]*loomv1.Position) *loomv1.Cursor {
	c := &loomv1.Cursor{}
	for _, p := range m {
		c.Positions = append(c.Positions, proto.CloneOf(p))
	}
	slices.SortFunc(c.Positions, func(a, b *loomv1.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return c
}
