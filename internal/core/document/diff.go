package document

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The limits of a granular change: beyond one of them a file is made anew.
const (
	MostStructural = 5 // elements of structure that are added, removed or moved
	// mostRatio is 2/5, as whole numbers, so that 0.4 itself is not beyond it.
	ratioOver, ratioUnder = 2, 5
)

// Change is how much of a spec another one changes.
type Change struct {
	// Changed and Total count nodes: those with other content, added and removed ones,
	// and all of both specs. A node that is another one's place counts once.
	Changed int `json:"changed"`
	Total   int `json:"total"`
	// Structural counts headings, lists, tables, callouts, figures and clauses that were
	// added, removed or moved.
	Structural int `json:"structural"`
	// Ratio is Changed / Total, 0 for two empty specs.
	Ratio float64 `json:"changeRatio"`
	// Mode is bulk, if Ratio is above 0.4 or Structural above 5, else granular.
	Mode string `json:"mode"`
	// Added, Removed and Edited are ids of nodes.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Edited  []string `json:"edited,omitempty"`
}

// Compare counts what differs between two specs.
func Compare(before, after proto.Message) Change {
	old, now := Nodes(before), Nodes(after)
	was, is := byID(old), byID(now)
	c := Change{}
	type family struct{ parent, kind string }
	gone, come := map[family]int{}, map[family]int{}
	same := 0
	for _, n := range old {
		m, there := is[n.ID]
		switch {
		case !there:
			c.Removed = append(c.Removed, n.ID)
			gone[family{parentOf(n.ID), n.Kind}]++
		case m.Text != n.Text:
			c.Edited = append(c.Edited, n.ID)
		default:
			same++
		}
	}
	for _, n := range now {
		if _, there := was[n.ID]; !there {
			c.Added = append(c.Added, n.ID)
			come[family{parentOf(n.ID), n.Kind}]++
		}
	}
	// An edited paragraph has another id: one gone and one come in its place are one change.
	c.Changed = len(c.Edited)
	for f, n := range gone {
		c.Changed += max(n, come[f])
		if slices.Contains(structural, f.kind) {
			c.Structural += structuralOf(f.kind, n, come[f])
		}
	}
	for f, n := range come {
		if gone[f] == 0 {
			c.Changed += n
			if slices.Contains(structural, f.kind) {
				c.Structural += n
			}
		}
	}
	moved := movedOf(old, now, was, is)
	c.Structural += moved
	c.Changed += moved
	c.Total = same + c.Changed - moved
	c.Total = max(c.Total, c.Changed)
	c.Mode = "granular"
	if c.Total > 0 {
		c.Ratio = float64(c.Changed) / float64(c.Total)
	}
	if c.Changed*ratioUnder > c.Total*ratioOver || c.Structural > MostStructural {
		c.Mode = "bulk"
	}
	return c
}

// structuralOf counts what came and went: a callout that is worded otherwise is a
// change of content and not of structure.
func structuralOf(kind string, gone, come int) int {
	if kind == "callout" {
		return max(gone, come) - min(gone, come)
	}
	return max(gone, come)
}

func byID(nodes []Node) map[string]Node {
	m := map[string]Node{}
	for _, n := range nodes {
		m[n.ID] = n
	}
	return m
}

func parentOf(id string) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '/' {
			return id[:i]
		}
	}
	return ""
}

// movedOf counts headings, clauses and figures that stand in another order: those
// outside of the longest run that kept its order.
func movedOf(old, now []Node, was, is map[string]Node) int {
	place := map[string]int{}
	for _, n := range now {
		if _, kept := was[n.ID]; kept {
			place[n.ID] = len(place)
		}
	}
	moved := 0
	for _, kind := range []string{"heading", "clause", "figure"} {
		var order []int
		for _, n := range old {
			if _, kept := is[n.ID]; kept && n.Kind == kind {
				order = append(order, place[n.ID])
			}
		}
		moved += len(order) - longestRising(order)
	}
	return moved
}

func longestRising(list []int) int {
	var ends []int
	for _, n := range list {
		i, _ := slices.BinarySearch(ends, n)
		if i == len(ends) {
			ends = append(ends, n)
		} else {
			ends[i] = n
		}
	}
	return len(ends)
}

// Diff returns patches that make after of before: [Apply] carries them all out, and
// the result has after's canonical bytes. Both are of one kind.
func Diff(before, after proto.Message) ([]*loomv1.Patch, error) {
	if KindOf(before).Name != KindOf(after).Name {
		return nil, fault.New("document/invalid", "a %s and a %s cannot be compared", KindOf(before).Name, KindOf(after).Name)
	}
	a, b := treeOf(before), treeOf(after)
	d := &differ{}
	d.value(nil, a, b)
	if got, report := Apply(before, d.patches); report.Refused == 0 && bytes.Equal(Canonical(got), Canonical(after)) {
		return d.patches, nil
	}
	// In between, two elements would have had one name, or the like: field by field.
	d = &differ{coarse: true}
	d.value(nil, a, b)
	if got, report := Apply(before, d.patches); report.Refused > 0 || !bytes.Equal(Canonical(got), Canonical(after)) {
		return nil, fault.New("document/patch", "no patches lead from one to the other")
	}
	return d.patches, nil
}

type differ struct {
	patches []*loomv1.Patch
	coarse  bool
}

func (d *differ) add(p Path, action string, value any) {
	patch := &loomv1.Patch{Id: fmt.Sprintf("patch-%d", len(d.patches)+1), Target: p.String(), Action: action}
	if action != "remove" {
		v, err := structpb.NewValue(value)
		if err != nil {
			panic(fmt.Sprintf("document: a tree that is no JSON: %v", err))
		}
		patch.Value = v
	}
	d.patches = append(d.patches, patch)
}

func (d *differ) value(p Path, a, b any) {
	if equal(a, b) {
		return
	}
	x, isObject := a.(map[string]any)
	y, stays := b.(map[string]any)
	if isObject && stays && !d.whole(p, x, y) {
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if _, kept := y[key]; !kept {
				d.add(below(p, key), "remove", nil)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(y)) {
			if old, there := x[key]; there {
				d.value(below(p, key), old, y[key])
			} else {
				d.add(below(p, key), "replace", y[key])
			}
		}
		return
	}
	s, isList := a.([]any)
	t, stays := b.([]any)
	if isList && stays && !d.coarse {
		d.list(p, s, t)
		return
	}
	d.add(p, "replace", b)
}

// whole says that an object is replaced as one: in between it would not be valid.
func (d *differ) whole(p Path, a, b map[string]any) bool {
	if len(p) == 0 {
		return false
	}
	last := p[len(p)-1]
	figure := len(p) == 2 && p[0].key == "figures"
	return figure || last.key == "table" && !(equal(a["headers"], b["headers"]) && equal(a["merges"], b["merges"]))
}

func below(p Path, key string) Path {
	return append(slices.Clone(p), step{key: key, quoted: key == ""})
}

func element(p Path, i int) Path { return append(slices.Clone(p), step{index: i}) }

func (d *differ) list(p Path, a, b []any) {
	if name := naming(a, b); name != "" {
		d.elements(p, a, b, name)
		return
	}
	begin, end := 0, 0
	for begin < min(len(a), len(b)) && equal(a[begin], b[begin]) {
		begin++
	}
	for end < min(len(a), len(b))-begin && equal(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	old, now := a[begin:len(a)-end], b[begin:len(b)-end]
	both := min(len(old), len(now))
	if len(now) == 0 && begin+end == 0 {
		d.add(p, "remove", nil)
		return
	}
	for i := range both {
		d.value(element(p, begin+i), old[i], now[i])
	}
	for i := len(old) - 1; i >= both; i-- {
		d.add(element(p, begin+i), "remove", nil)
	}
	length := begin + both + end
	for i := both; i < len(now); i++ {
		d.add(p, "append", now[i])
		if at := begin + i; at != length {
			d.add(element(p, length), "move", float64(at))
		}
		length++
	}
}

// naming is the key that all elements of both lists are named by.
func naming(a, b []any) string {
	for _, name := range []string{"id", "name", "header"} {
		all := slices.Concat(a, b)
		unnamed := slices.ContainsFunc(all, func(e any) bool {
			object, _ := e.(map[string]any)
			_, named := object[name].(string)
			return !named
		})
		if !unnamed && len(all) > 0 {
			return name
		}
	}
	return ""
}

// elements brings a list of named elements into the other's order, then each element
// into the other's form.
func (d *differ) elements(p Path, a, b []any, name string) {
	id := func(e any) string { s, _ := e.(map[string]any)[name].(string); return s }
	find := func(list []any, want string) int {
		return slices.IndexFunc(list, func(e any) bool { return id(e) == want })
	}
	if !slices.ContainsFunc(a, func(e any) bool { return find(b, id(e)) >= 0 }) {
		d.add(p, "replace", b)
		return
	}
	now := slices.Clone(a)
	for i := len(now) - 1; i >= 0; i-- {
		if find(b, id(now[i])) < 0 {
			d.add(element(p, i), "remove", nil)
			now = slices.Delete(now, i, i+1)
		}
	}
	for i, e := range b {
		at := find(now, id(e))
		if at < 0 {
			d.add(p, "append", e)
			at = len(now)
			now = append(now, e)
		}
		if at != i {
			d.add(element(p, at), "move", float64(i))
			now = relocate(now, at, i)
		}
		d.value(element(p, i), now[i], e)
		now[i] = e
	}
}

func equal(a, b any) bool {
	x, errX := encode(a)
	y, errY := encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
