package vault_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// answered makes a data directory whose journal has a change that was answered. Of its diff
// only the name is there when it is to be missing.
func answered(t *testing.T, missing, decided bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	diff := put(t, b, missing)
	log, err := natsjournal.New(t.Context(), b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	events := []*loomv1.Event{{Number: 1, Project: "shop", Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{
		Approval: &loomv1.Approval{Id: "shop-2", Change: &loomv1.Change{Diff: diff}},
	}}}}
	if decided {
		events = append(events, &loomv1.Event{Number: 2, Project: "shop", Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{Approval: "shop-2"}}})
	}
	if _, err := log.Append(t.Context(), 0, journal.Seal(journal.Head{}, 0, 1, dir.Manifest().Host+".1.1", "a", events)); err != nil {
		t.Fatal(err)
	}
	closeAll(t, b, dir)
	return path
}

// An audit says of an answered change that its diff is away: the signature holds, and
// nobody can see what it is over.
func TestP09_AnAuditMissesADiffThatWasAnswered(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ missing, decided, want bool }{{true, true, true}, {false, true, false}, {true, false, false}} {
		s, err := vault.Open(answered(t, tt.missing, tt.decided))
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Audit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(found.Damage, func(e *fault.Error) bool { return e.Code == "blob/missing" && e.Where == "shop-2" })
		if got != tt.want || tt.want && found.Sound {
			t.Errorf("diff missing %t, answered %t: %v, want it named: %t", tt.missing, tt.decided, found.Damage, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
