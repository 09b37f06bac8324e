package reading

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL04_ADiffInAnyEncodingIsShown has a change of a file in Latin-1: the
// answer of the inbox could not be sent, so that nobody could approve it.
func TestREAL04_ADiffInAnyEncodingIsShown(t *testing.T) {
	view := &loomv1.View{Diff: validText([]byte("+gr\xfc\xdfe\n+\xc3\xbc\n"))}
	if _, err := proto.Marshal(view); err != nil {
		t.Fatal(err)
	}
	if want := "+gr\uFFFDe\n+\u00fc\n"; view.Diff != want {
		t.Errorf("the diff is %q, want %q", view.Diff, want)
	}
}

// A page that no list has is refused, and not answered with the first.
func TestSUB04_APageThatNoListHasIsRefused(t *testing.T) {
	views := &Views{}
	for _, v := range []project.View{project.Beads, project.Inbox, project.Executions, project.Definitions} {
		for _, q := range []*loomv1.Query{{After: "abc"}, {Limit: 1001}, {Limit: 99999, Project: "shop"}} {
			if _, err := views.Answer(t.Context(), v, q, nil); fault.Code(err) != "request/parameter" {
				t.Errorf("%s, %v: %v, want request/parameter", v, q, err)
			}
		}
	}
	for v, q := range map[project.View]*loomv1.Query{
		project.Beads: {Filter: "nope"}, project.Executions: {Filter: "nope"}, project.Inbox: {Filter: "nope"}, project.Lock: {After: "shop-1"},
	} {
		if _, err := views.Answer(t.Context(), v, q, nil); fault.Code(err) != "request/parameter" {
			t.Errorf("%s, %v: %v, want request/parameter", v, q, err)
		}
	}
	if err := CheckPage(project.Beads, &loomv1.Query{Project: "desk", After: "shop-1"}); fault.Code(err) != "request/parameter" {
		t.Errorf("after another project's bead: %v", err)
	}
	for v, q := range map[project.View]*loomv1.Query{
		project.Beads: {After: "my-shop-12e2", Filter: "in_progress", Limit: 1000}, project.Executions: {After: "shop-1-x1", Project: "shop", Filter: "running"}, project.Inbox: {After: "shop-2", Filter: "all"},
	} {
		if err := CheckPage(v, q); err != nil {
			t.Errorf("%s, %v: %v", v, q, err)
		}
	}
}
