package notice

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxPositions is how many partitions a deployment can have.
const maxPositions = 64

// FormatCursor writes a cursor as its positions joined by commas, by partition:
// "0.1.42.0,2.1.17.3". It is the one text of a cursor, on every surface. A
// cursor without positions gives "", the beginning.
func FormatCursor(c *loomv1.Cursor) string {
	positions := slices.Clone(c.GetPositions())
	slices.SortStableFunc(positions, func(a, b *loomv1.Position) int {
		return cmp.Compare(a.GetPartition(), b.GetPartition())
	})
	var b strings.Builder
	for i, p := range positions {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(FormatPosition(p))
	}
	return b.String()
}

// ParseCursor reads what [FormatCursor] writes, in any order of partitions; ""
// gives nil. Otherwise, and when a partition has two positions or there are
// more than 64, the error has the code id/malformed.
func ParseCursor(s string) (*loomv1.Cursor, error) {
	if s == "" {
		return nil, nil
	}
	c := &loomv1.Cursor{}
	for part := range strings.SplitSeq(s, ",") {
		p, err := ParsePosition(part)
		if err != nil {
			return nil, err
		}
		if len(c.Positions) == maxPositions || slices.ContainsFunc(c.Positions, func(o *loomv1.Position) bool { return o.Partition == p.Partition }) {
			return nil, fault.New("id/malformed", "cursor has more than one position for a partition").At("cursor").Got(s).
				Want("one position for each partition, joined by commas")
		}
		c.Positions = append(c.Positions, p)
	}
	slices.SortFunc(c.Positions, func(a, b *loomv1.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return c, nil
}

// Advance returns c with its position in p's partition set to p. It keeps p and
// does not change c.
func Advance(c *loomv1.Cursor, p *loomv1.Position) *loomv1.Cursor {
	next := &loomv1.Cursor{Positions: slices.Clone(c.GetPositions())}
	i, found := slices.BinarySearchFunc(next.Positions, p.GetPartition(), func(o *loomv1.Position, part uint32) int {
		return cmp.Compare(o.GetPartition(), part)
	})
	if found {
		next.Positions[i] = p
		return next
	}
	next.Positions = slices.Insert(next.Positions, i, p)
	return next
}
