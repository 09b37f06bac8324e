package play_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/play"
)

// Every story comes to its end, is the same again, and has what it is about.
func TestWF10_StoriesComeToTheirEnd(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name  string
		story func(*play.Shop)
		has   []string
	}{
		{"landed", play.Landed, []string{"landed", "execution-ended"}},
		{"rework", play.Rework, []string{"rework-started", "approval-lapsed", "landed"}},
		{"escalation", play.Escalation, []string{"retry-scheduled", "approval-decided", "execution-ended"}},
		{"troubles", play.Troubles, []string{"claim-released", "lock-expired", "bead-occurred", "landed"}},
		{"paused", play.Paused, []string{"work-paused", "work-resumed", "landed"}},
		{"overridden", play.Overridden, []string{"override-given", "execution-moved", "definition-stored", "execution-ended"}},
		{"nested", play.Nested, []string{"child-started", "gap-noted", "gate-failed", "execution-ended"}},
		{"forked", play.Forked, []string{"execution-forked", "landed"}},
		{"reserved", play.Reserved, []string{"call-reserved", "call-settled", "limit-lifted", "execution-ended"}},
		{"limited", play.Limited, []string{"limit-lifted", "execution-ended"}},
		{"linked", play.Linked, []string{"bead-status-changed", "execution-ended"}},
		{"voted", play.Voted, []string{"ballot-opened", "vote-cast", "ballot-referred", "ballot-closed", "decision-superseded", "approval-lapsed", "landed"}},
		{"abandoned", play.Abandoned, []string{"decision-abandoned", "ballot-closed", "override-given", "approval-lapsed", "landed"}},
		{"imported", play.Imported, []string{"decisions-imported", "decision-abandoned"}},
		{"teamed", play.Teamed, []string{"task-given", "task-ended", "attempt-parked", "landed"}},
		{"storm", play.Storm, []string{"governor-tripped", "governor-renewed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tell := func(pack int) (data []byte, kinds map[string]int) {
				kinds = map[string]int{}
				s := play.Open("shop", pack, func(b *loomv1.Batch) {
					data, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(data, b)
					for _, e := range b.Events {
						kinds[notice.Kind(e)]++
						if testing.Verbose() {
							t.Log(e.Number, e.Time.AsTime().Format("15:04:05"), notice.Summary(e))
						}
					}
				})
				tt.story(s)
				s.Flush()
				return data, kinds
			}
			one, kinds := tell(0)
			if again, _ := tell(0); string(again) != string(one) {
				t.Error("told again it is another")
			}
			if packed, same := tell(50); len(packed) >= len(one) || same["execution-ended"] != kinds["execution-ended"] {
				t.Errorf("packed into batches of 50 events it has %d bytes, want fewer than %d and the same events", len(packed), len(one))
			}
			for _, kind := range tt.has {
				if kinds[kind] == 0 {
					t.Errorf("no %s in %v", kind, kinds)
				}
			}
		})
	}
}
