package execution

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF16_MomentsAreNamedInFourWays(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want moment
		code string
	}{
		{"", moment{}, ""},
		{"2.1.40.0", moment{At: &loomv1.Position{Partition: 2, Epoch: 1, Sequence: 40}}, ""},
		{"1", moment{Number: 1}, ""},
		{"18446744073709551615", moment{Number: 1<<64 - 1}, ""},
		{"10m", moment{Time: timestamppb.New(noon.Add(-10 * time.Minute))}, ""},
		{"1h0.5s", moment{Time: timestamppb.New(noon.Add(-time.Hour - time.Second/2))}, ""},
		{"0s", moment{Time: timestamppb.New(noon)}, ""},
		{"2026-01-02T11:00:00Z", moment{Time: timestamppb.New(noon.Add(-time.Hour))}, ""},
		{"2026-01-02T11:00:00.5+02:00", moment{Time: timestamppb.New(noon.Add(-3*time.Hour + time.Second/2))}, ""},
		{"0", moment{Time: timestamppb.New(noon)}, ""},
		{"-10m", moment{}, "usage/argument"},
		{"-1", moment{}, "usage/argument"},
		{"18446744073709551616", moment{}, "usage/argument"},
		{"noon", moment{}, "usage/argument"},
		{"2026-01-02", moment{}, "usage/argument"},
		{"2026-01-02 11:00:00", moment{}, "usage/argument"},
		{"2.1.40", moment{}, "usage/argument"},
		{"2.1.040.0", moment{}, "id/malformed"},
		{"0.1.2.x", moment{}, "id/malformed"},
	} {
		got, err := ParseMoment("--at", tt.text, noon)
		if fault.Code(err) != tt.code {
			t.Errorf("parseMoment(%q) = %v, want %q", tt.text, err, tt.code)
		}
		if err == nil && (!proto.Equal(got.At, tt.want.At) || !proto.Equal(got.Time, tt.want.Time) || got.Number != tt.want.Number) {
			t.Errorf("parseMoment(%q) = %v, want %v", tt.text, got, tt.want)
		}
		if err != nil && fault.From(err).Where != "--at" {
			t.Errorf("parseMoment(%q): %v, want it to name the flag", tt.text, err)
		}
	}
}
