package document

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ids(nodes []Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Kind+" "+n.ID)
	}
	return list
}

func TestDOC07_NodesHaveStableIDs(t *testing.T) {
	want := []string{
		"title title", "heading sec-1/heading", "paragraph sec-1/paragraph-61b5a3a8", "list sec-1/bullets", "item sec-1/bullets/item-0", "item sec-1/bullets/item-1",
		"callout sec-1/callout-0", "heading sec-2/heading", "table sec-2/table", "row sec-2/table/row-0", "row sec-2/table/row-1", "clause clause/confidentiality",
	}
	got := ids(Nodes(spec(t)))
	if len(got) != len(want) {
		t.Fatalf("nodes %q, want %d", got, len(want))
	}
	for i := range want {
		if k := len("paragraph"); got[i][:min(k, 5)] != want[i][:min(k, 5)] {
			t.Errorf("node %d is %s, want the kind of %s", i, got[i], want[i])
		}
	}
	// Something else is inserted before: the ids stay.
	d := spec(t)
	d.Sections = append([]*loomv1.DocumentSection{{Id: "new", Heading: "New", Body: "One.\n\nTwo.\n\nOne."}}, d.Sections...)
	d.Sections[1].Bullets = append([]string{"First of all"}, d.Sections[1].Bullets...)
	after := ids(Nodes(d))
	for _, id := range got {
		if !slices.Contains(after, id) {
			t.Errorf("%s is gone after an insertion before it", id)
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(after))); len(unique) != len(after) {
		t.Errorf("two nodes have one id: %q", after)
	}
	found := Search(Nodes(d), "LEASE april", 5)
	if len(found) != 1 || found[0].Path != "sections[1].bullets[1]" {
		t.Errorf("Search = %v, want the bullet about the lease", found)
	}
}

func numbered2(n int) *loomv1.DocumentSpec {
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "x"}
	for i := range n {
		d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: sectionID(i), Heading: fmt.Sprint("H ", i)})
	}
	return d
}

// Bulk begins above 0.4 and above five elements of structure, not at them.
func TestDOC05_BulkOrGranularAtBothEdges(t *testing.T) {
	edited := func(n, of int) Change {
		a, b := numbered2(of), numbered2(of)
		for i := range n {
			b.Sections[i].Heading += " edited"
		}
		return Compare(a, b)
	}
	added := func(n int) Change { return Compare(numbered2(40), numbered2(40+n)) }
	removed := func(n int) Change { return Compare(numbered2(40), numbered2(40-n)) }
	moved := func(n int) Change {
		a, b := numbered2(40), numbered2(40)
		for range n {
			b.Sections = append(b.Sections[1:], b.Sections[0])
		}
		return Compare(a, b)
	}
	for _, tt := range []struct {
		what       string
		got        Change
		changed    int
		total      int
		structural int
		mode       string
	}{
		{"nothing", Compare(numbered2(3), numbered2(3)), 0, 4, 0, "granular"},
		{"4 of 10 edited: 0.4", edited(4, 9), 4, 10, 0, "granular"},
		{"5 of 12 edited: 0.417", edited(5, 11), 5, 12, 0, "bulk"},
		{"2 of 5 edited: 0.4", edited(2, 4), 2, 5, 0, "granular"},
		{"5 added", added(5), 5, 46, 5, "granular"},
		{"6 added", added(6), 6, 47, 6, "bulk"},
		{"5 removed", removed(5), 5, 41, 5, "granular"},
		{"6 removed", removed(6), 6, 41, 6, "bulk"},
		{"5 moved", moved(5), 5, 41, 5, "granular"},
		{"6 moved", moved(6), 6, 41, 6, "bulk"},
	} {
		c := tt.got
		if c.Changed != tt.changed || c.Total != tt.total || c.Structural != tt.structural || c.Mode != tt.mode {
			t.Errorf("%s: %d of %d, structural %d, %s; want %d of %d, %d, %s", tt.what, c.Changed, c.Total, c.Structural, c.Mode, tt.changed, tt.total, tt.structural, tt.mode)
		}
	}
	a, b := spec(t), spec(t)
	b.Sections[0].Body = "Another sentence."
	if c := Compare(a, b); c.Changed != 1 || c.Structural != 0 {
		t.Errorf("a paragraph that is worded otherwise counts %d times, structural %d; want once and 0", c.Changed, c.Structural)
	}
}

func TestDOC05_TheRatioIsAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpec(t), drawSpec(t)
		c := Compare(a, b)
		if c.Ratio < 0 || c.Ratio > 1 || c.Changed > c.Total {
			t.Fatalf("%d of %d is a ratio of %v", c.Changed, c.Total, c.Ratio)
		}
		if same := Compare(a, a); same.Changed != 0 || same.Ratio != 0 || same.Mode != "granular" {
			t.Fatalf("a document differs from itself: %+v", same)
		}
		if back := Compare(b, a); back.Changed != c.Changed || back.Mode != c.Mode {
			t.Fatalf("there %+v, back %+v", c, back)
		}
	})
}

func TestDOC07_SheetsAndDecksHaveNodes(t *testing.T) {
	if diff := cmp.Diff([]string{"title", "heading", "paragraph", "table", "row", "row", "row", "formula", "figure"}, kindsOf(Nodes(read(t, "sheet")))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"title", "heading", "list", "item", "item", "paragraph", "heading", "table", "row", "row"}, kindsOf(Nodes(read(t, "presentation")))); diff != "" {
		t.Error(diff)
	}
	if n := Nodes(read(t, "outline")); n != nil {
		t.Errorf("an outline has nodes: %v", n)
	}
}

func kindsOf(nodes []Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Kind)
	}
	return list
}
