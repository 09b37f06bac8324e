package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
)

// TestLOCK03_NoHookNoCheckout makes candidates under the commit lock: where no
// hook would run, no work tree is written for one, and a hook that git would
// not run is still told of.
func TestLOCK03_NoHookNoCheckout(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct {
		name    string
		mode    os.FileMode // of a pre-commit hook; 0 for none
		written bool
		skipped bool
	}{
		{"none", 0, false, false},
		{"not executable", 0o600, false, true},
		{"one that runs", 0o700, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if tt.mode != 0 {
				f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
				if err := os.Chmod(filepath.Join(f.top, ".git", "hooks", "pre-commit"), tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			var steps []string
			f.com.step = func(s string) { steps = append(steps, s) }
			runs, err := f.tryCandidate(allowed)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(steps, "stage written"); got != tt.written {
				t.Errorf("a work tree was written: %t, want %t; steps %q", got, tt.written, steps)
			}
			skipped := slices.ContainsFunc(runs, func(r HookRun) bool { return r.Name == "pre-commit" && r.Skipped })
			if skipped != tt.skipped {
				t.Errorf("hooks: %v, want one skipped: %t", runs, tt.skipped)
			}
		})
	}
}

// TestREAL04_BulkCallsHaveTime says which git calls a large repository may keep
// busy for longer than two minutes.
func TestREAL04_BulkCallsHaveTime(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]time.Duration{
		"read-tree": bulkTimeout, "write-tree": bulkTimeout, "update-index": bulkTimeout, "pack-objects": bulkTimeout, "index-pack": bulkTimeout,
		"checkout-index": bulkTimeout, "update-ref": callTimeout, "rev-parse": callTimeout,
	} {
		if got := (call{}).limit(command); got != want {
			t.Errorf("git %s may take %s, want %s", command, got, want)
		}
	}
	if got := (call{timeout: time.Second}).limit("read-tree"); got != time.Second {
		t.Errorf("a limit of its own became %s", got)
	}
}
