package git

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Two executions make the same patch, and the first lands: what the second is told
// in the place of a candidate is the newest commit, and which one has its patch.
func TestREAL07_WhatTheTargetHasIsNamed(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	same := f.editing("a.txt", "one\n2\nthree\n")
	first, second, other := f.propose(1, same), f.propose(2, same), f.propose(3, f.editing("a.txt", "one\n3\nthree\n"))
	if commit, bead, err := f.ws.Holder(t.Context(), second); commit != "" || bead != "" || err != nil {
		t.Errorf("before anything landed %q of %q has it, %v", commit, bead, err)
	}
	landed := f.land(1, 5, f.candidate(1, 5, first)).GetCommit()
	f.write("other.txt", "user\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "user")
	head := f.head("main")
	for _, tt := range []struct {
		name         string
		change       *loomv1.Change
		commit, bead string
	}{
		{"the same patch", second, landed, "b1"},
		{"another patch", other, "", ""},
		{"no patch", nil, "", ""},
	} {
		got, err := f.com.Present(t.Context(), PresentRequest{Deployment: "d1", Token: 6, Target: "main", Change: tt.change})
		if err != nil {
			t.Fatal(err)
		}
		if got.DoneByCommit != tt.commit || got.DoneByBead != tt.bead {
			t.Errorf("%s: commit %q of bead %q, want %q of %q", tt.name, got.DoneByCommit, got.DoneByBead, tt.commit, tt.bead)
		}
		if !got.Present || got.Commit != head || got.Base != head || got.Token != 6 || got.PatchDigest != "" {
			t.Errorf("%s: %v, want the target's %s", tt.name, got, head)
		}
	}
	if commit, bead, err := f.ws.Holder(t.Context(), second); commit != landed || bead != "b1" || err != nil {
		t.Errorf("%q of %q has it, %v; want %q of b1", commit, bead, err, landed)
	}
	_, err := f.com.Present(t.Context(), PresentRequest{Deployment: "d1", Token: 5, Target: "main"})
	wantCode(t, err, "git/fenced")
}
