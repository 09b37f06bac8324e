package commitlock_test

import (
	"fmt"
	"time"

	"github.com/loomrun/loom/internal/core/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Two agents want to commit. The first stops renewing, so the second is
// granted the lock, and what the first tries later is refused.
func Example() {
	table := commitlock.New(commitlock.DefaultLease)
	number := uint64(0)
	record := func(events []*loomv1.Event, err error) {
		if err != nil {
			fmt.Println("refused:", err)
		}
		for _, e := range events {
			number++
			e.Number = number
			commitlock.Stamp(e, 0)
			if err := table.Apply(e); err != nil {
				fmt.Println(err)
			}
		}
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	who := func(host string) *loomv1.Claimant { return &loomv1.Claimant{Agent: "em/1", Host: host, Epoch: 1} }

	record(table.Acquire(now, "repo", &loomv1.AcquireLock{Request: "t-1", Holder: who("h1")}))
	first := table.Status("repo").Holder.Token
	record(table.Acquire(now, "repo", &loomv1.AcquireLock{Request: "t-2", Holder: who("h2")}))

	now = now.Add(5 * time.Minute)
	record(table.Tick(now))
	record(table.Renew(now, "repo", first))
	// Output:
	// refused: commit lock on "repo": held by em/1@h2 until 2026-01-02T12:10:00Z (token 5)
}
