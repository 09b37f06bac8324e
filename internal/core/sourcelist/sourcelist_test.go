package sourcelist_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/sourcelist"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A content of an address is listed once, in the order of the journal; what a page says
// of its title is words in the document.
func TestTOOL07_SourcesAreListedOnce(t *testing.T) {
	var l sourcelist.List
	at := timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	one := strings.Repeat("1", 64)
	two := strings.Repeat("2", 64)
	for _, r := range []*loomv1.SourceRead{
		{Address: "https://b.test/", Title: "[B](https://evil.test)", Sha256: one, Size: 5, Content: &loomv1.BlobRef{Sha256: one}, Text: &loomv1.BlobRef{Sha256: two}},
		{Address: "https://a.test/", Sha256: one, Size: 5},
		{Address: "https://b.test/", Sha256: one, Size: 5},
		{Address: "https://b.test/", Sha256: two, Size: 6, Content: &loomv1.BlobRef{Sha256: two}},
	} {
		l.Add(&loomv1.Event{Time: at, Node: "look", Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Tool: "web_fetch", Result: &loomv1.ToolResult{Read: []*loomv1.SourceRead{r}}}}})
	}
	l.Add(&loomv1.Event{Time: at})
	list := l.Entries()
	if len(list) != 3 || list[0].Kept() != two || list[1].Kept() != "" || list[2].Kept() != two || list[2].Number != 3 {
		t.Errorf("%+v", list)
	}
	want := "# Sources\n\nWhat was read, as the runtime recorded it: the address, when, and the SHA-256 of what came.\n\n" +
		"1. \\[B\\](https://evil.test)\n   <https://b.test/>\n   2026-01-02T03:04:05Z by web_fetch at look, 5 bytes, sha256 " + one + "\n" +
		"2. https://a.test/\n   <https://a.test/>\n   2026-01-02T03:04:05Z by web_fetch at look, 5 bytes, sha256 " + one + "\n"
	if got := sourcelist.Markdown(list[:2]); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := sourcelist.Markdown(nil); !strings.HasSuffix(got, "Nothing was read outside of the workspace.\n") {
		t.Errorf("%s", got)
	}
}

// What was read for a bead is read in all its executions and in the work that was filed
// for it, and by nobody else; who asks later sees the same numbers.
func TestTOOL07_SourcesOfABeadAreThoseOfItsWork(t *testing.T) {
	filed := func(id, parent, about string) *loomv1.Event {
		return &loomv1.Event{Bead: id, Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{Id: id, Parent: parent, About: about}}}}
	}
	read := func(bead, execution, address string) *loomv1.Event {
		return &loomv1.Event{Bead: bead, Execution: execution, Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{
			Tool: "web_fetch", Result: &loomv1.ToolResult{Read: []*loomv1.SourceRead{{Address: address, Sha256: "1"}}},
		}}}
	}
	events := []*loomv1.Event{
		filed("p-1", "", ""), filed("p-2", "", ""), filed("p-3", "p-1", ""), filed("p-4", "", "p-3"),
		read("p-3", "p-3-x1", "https://child.test/"), read("p-2", "p-2-x1", "https://other.test/"),
		read("p-1", "p-1-x1", "https://own.test/"), read("p-4", "p-4-x1", "https://about.test/"), read("p-1", "p-1-x2", "https://again.test/"),
	}
	whole, late := sourcelist.Of("p-1"), sourcelist.Of("p-1")
	for i, e := range events {
		if ours, want := whole.Add(e), e.Bead != "p-2"; ours != want {
			t.Errorf("event %d is ours: %t", i, ours)
		}
		if i > 0 {
			late.Add(e)
		}
	}
	got := ""
	for _, e := range whole.Entries() {
		got += e.Address + " "
	}
	if want := "https://child.test/ https://own.test/ https://about.test/ https://again.test/ "; got != want {
		t.Errorf("read were %s, want %s", got, want)
	}
	if !whole.Whole() || late.Whole() {
		t.Errorf("whole: %t, and from the second event on: %t", whole.Whole(), late.Whole())
	}
}

// An address cannot leave its place in the document.
func TestTOOL07_AnAddressStaysAnAddress(t *testing.T) {
	got := sourcelist.Markdown([]sourcelist.Entry{{Number: 1, Address: "https://a.test/?a=><img src=x>\n# B"}})
	if want := "<https://a.test/?a=%3E%3Cimg%20src=x%3E%0A#%20B>"; !strings.Contains(got, want) {
		t.Errorf("%s\nhas no %s", got, want)
	}
}
