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
