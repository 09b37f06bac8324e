package subject_test

import (
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

func ExampleNotice() {
	of := subject.About{Project: subject.Must("shop"), Team: subject.Must("shop-1"), Bead: subject.Must("shop-3"), Kind: subject.Must("tool-finished")}
	of.Role, of.Agent, _ = subject.Agent("qa-engineer/2")
	of.Host = subject.Must("h1")
	fmt.Println(subject.Notice(of))
	fmt.Println(subject.Notice(subject.About{Project: of.Project, Kind: subject.Must("project-registered")}))
	fmt.Println(subject.Live(of.Project, of.Bead, of.Role, of.Agent))
	// Output:
	// loom.v1.notice.shop.shop-1.shop-3.tool-finished.h1.qa-engineer.qa-engineer-2
	// loom.v1.notice.shop.-.-.project-registered.-.-.-
	// loom.v1.live.shop.shop-3.qa-engineer.qa-engineer-2
}

func TestSUB04_ObserversNameWhatTheyListenTo(t *testing.T) {
	shop, bead := subject.Must("shop"), subject.Must("shop-3")
	for _, tt := range []struct {
		of   subject.About
		want string
	}{
		{subject.About{}, "loom.v1.notice.>"},
		{subject.About{Project: shop}, "loom.v1.notice.shop.>"},
		{subject.About{Team: subject.Must("shop-1")}, "loom.v1.notice.*.shop-1.>"},
		{subject.About{Project: shop, Bead: bead}, "loom.v1.notice.shop.*.shop-3.>"},
		{subject.About{Kind: subject.Must("bead-filed")}, "loom.v1.notice.*.*.*.bead-filed.>"},
		{subject.About{Host: subject.Must("h1")}, "loom.v1.notice.*.*.*.*.h1.>"},
		{subject.About{Role: subject.Must("lead")}, "loom.v1.notice.*.*.*.*.*.lead.>"},
		{subject.About{Agent: subject.Must("lead-1")}, "loom.v1.notice.*.*.*.*.*.*.lead-1"},
	} {
		if got := subject.Notices(tt.of); got != tt.want {
			t.Errorf("Notices(%v) = %s, want %s", tt.of, got, tt.want)
		}
	}
}

func TestSUB04_AnAgentIsTwoTokens(t *testing.T) {
	for _, bad := range []string{"", "/1", "Lead/1", "lead/1.2", "lead/>"} {
		if role, agent, err := subject.Agent(bad); fault.Code(err) != "id/malformed" {
			t.Errorf("Agent(%q) = %v, %v, %v; want id/malformed", bad, role, agent, err)
		}
	}
}
