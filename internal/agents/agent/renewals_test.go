package agent

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A grant that was renewed for an hour has not a lease of an hour, and one that is
// asked for again may soon be over.
func TestLOCK01_AGrantIsRenewedWellWithinItsLease(t *testing.T) {
	claim := func(held, lease, left time.Duration) *loomv1.LockClaim {
		now := time.Now()
		return &loomv1.LockClaim{
			GrantedAt: timestamppb.New(now.Add(left - held)), Until: timestamppb.New(now.Add(left)),
			Lease: durationpb.New(lease), Left: durationpb.New(left),
		}
	}
	old := claim(30*time.Second, 0, 30*time.Second)
	old.Lease, old.Left = nil, nil
	for name, tt := range map[string]struct {
		claim        *loomv1.LockClaim
		first, every time.Duration
	}{
		"fresh":                        {claim(30*time.Second, 30*time.Second, 30*time.Second), 10 * time.Second, 10 * time.Second},
		"of a long lease":              {claim(time.Hour, time.Hour, time.Hour), time.Minute, time.Minute},
		"of a short lease":             {claim(time.Millisecond, time.Millisecond, time.Millisecond), 100 * time.Millisecond, 100 * time.Millisecond},
		"renewed for an hour":          {claim(time.Hour, 30*time.Second, 30*time.Second), 10 * time.Second, 10 * time.Second},
		"soon over":                    {claim(30*time.Second, 30*time.Second, 3*time.Second), time.Second, 10 * time.Second},
		"over":                         {claim(30*time.Second, 30*time.Second, -time.Second), 100 * time.Millisecond, 10 * time.Second},
		"of a host that says it not":   {old, 10 * time.Second, 10 * time.Second},
		"longer than the lease of now": {claim(time.Hour, 30*time.Second, time.Hour), 10 * time.Second, 10 * time.Second},
	} {
		if first, every := renewals(tt.claim); first != tt.first || every != tt.every {
			t.Errorf("a grant %s is renewed after %s and every %s; want %s and %s", name, first, every, tt.first, tt.every)
		}
	}
}
