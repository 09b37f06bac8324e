package approval

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// All kinds of what waits are in one list, each with the command that answers it; what is
// snoozed is counted and left out.
func TestHUM01_OneListHasAllThatWaits(t *testing.T) {
	at := timestamppb.New(noon)
	v := &loomv1.View{
		WaitsTotal: 5,
		Approvals:  []*loomv1.Approval{{Id: "shop-2", Kind: loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, Bead: "shop-1", Question: "Shall it land?", AskedAt: at}},
		Waits: []*loomv1.Waiting{
			{Id: "shop-2", Project: "shop", Kind: "approval", Bead: "shop-1", Question: "Shall it land?", Since: at, Holds: 3},
			{Id: "s1", Project: "store", Kind: "session", Question: "option-burst session s1 waits\x1b[2J", Since: at, Holds: 1},
			{Id: "shop-7", Project: "shop", Kind: "conversation", Bead: "shop-7", Question: "And now?", Since: at},
			{Id: "shop-9", Project: "shop", Kind: "question", Question: "hidden", Since: at},
		},
	}
	for _, tt := range []struct {
		name    string
		asleep  snoozes
		want    []string
		without string
	}{
		{"all", snoozes{}, []string{
			"shop-2  approval about shop-1, asked", "  holds up 3 beads\n", "loom inbox shop-2\n", "loom pattern resume s1 --project store\n", "loom cowork --resume shop-7\n", "shop-9  question", "4 of 5 that wait are shown",
		}, "\x1b"},
		{"one is snoozed", snoozes{"shop/shop-9": noon.Add(time.Hour)}, []string{"shop-2  approval", "\n1 snoozed until "}, "shop-9"},
	} {
		var w bytes.Buffer
		listText(&w, 0, v, tt.asleep)
		for _, want := range tt.want {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s: %q is not in\n%s", tt.name, want, w.String())
			}
		}
		if strings.Contains(w.String(), tt.without) {
			t.Errorf("%s: %q is in\n%s", tt.name, tt.without, w.String())
		}
	}
}

// Who watches is told what has come and what waits no more; the same again, asked later, is
// another.
func TestHUM01_AWatchTellsOfChanges(t *testing.T) {
	one := func(id string, at time.Time) *loomv1.Waiting {
		return &loomv1.Waiting{Id: id, Project: "shop", Kind: "question", Question: "q of " + id, Since: timestamppb.New(at)}
	}
	old := &loomv1.View{Waits: []*loomv1.Waiting{one("shop-2", noon), one("shop-4", noon), one("s1", noon)}}
	v := &loomv1.View{Waits: []*loomv1.Waiting{one("shop-4", noon), one("s1", noon.Add(time.Minute)), one("shop-6", noon)}}
	if !sameWaits(old, old) || sameWaits(old, v) {
		t.Error("what is the same is not told from what has changed")
	}
	var w bytes.Buffer
	changeText(&w, 0, old, v)
	for _, want := range []string{"shop-2 waits no more\n", "s1 waits no more\n", "q of s1\n", "q of shop-6\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.String())
		}
	}
	if strings.Contains(w.String(), "shop-4") {
		t.Errorf("what waits as before is told again:\n%s", w.String())
	}
}

func TestHUM01_ASnoozeEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loom", "snoozed.json")
	if err := changeSnoozes(path, noon, func(s snoozes) { s["shop/s1"], s["shop/s2"] = noon.Add(time.Hour), noon.Add(3*time.Hour) }); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {time.Hour, 1}, {4 * time.Hour, 0}} {
		if s, err := readSnoozes(path, noon.Add(tt.after)); err != nil || len(s) != tt.want {
			t.Errorf("after %s: %v, %v, want %d", tt.after, s, err, tt.want)
		}
	}
	if err := os.WriteFile(path, []byte("{\"shop/s1\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSnoozes(path, noon); fault.Code(err) != "data/permissions" {
		t.Errorf("of a damaged file: %v", err)
	}
	for _, bad := range [][2]string{{"1h", "2026-01-05T08:00:00Z"}, {"-1h", ""}, {"soon", ""}, {"9000h", ""}, {"", "2020-01-01T00:00:00Z"}, {"", "tomorrow"}} {
		if _, err := sleepsUntil(bad[0], bad[1], noon); fault.Code(err) != "usage/argument" {
			t.Errorf("--for %q --until %q: %v", bad[0], bad[1], err)
		}
	}
	if end, err := sleepsUntil("", "", noon); err != nil || !end.Equal(noon.Add(4*time.Hour)) {
		t.Errorf("by default until %s, %v", end, err)
	}
}
