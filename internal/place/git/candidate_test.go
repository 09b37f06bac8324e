package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a candidate says of its author and hooks is read from the commit: it is the
// same for one that was made and for one that is found again, whatever has become of
// the hooks since.
func TestWF14_LOCK04_ACandidateTellsWhatItsCommitSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
	f.hook("commit-msg", "#!/bin/sh\nprintf '\\nLoom-Hooks: pre-commit=7\\n' >>$1\n")
	f.hook("prepare-commit-msg", "#!/bin/sh\nexit 9\n")
	if err := os.Chmod(filepath.Join(f.top, ".git", "hooks", "prepare-commit-msg"), 0o644); err != nil {
		t.Fatal(err)
	}
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	made := f.candidate(1, 5, change)
	want := &loomv1.Candidate{
		Commit: made.GetCommit(), Tree: f.user("rev-parse", made.GetCommit()+"^{tree}"), Base: f.head("main"),
		PatchDigest: change.GetPatchDigest(), Token: 5, Ref: candidateRef("b1"),
		Author: "backend-engineer <backend-engineer@loom.invalid>", ExpectedAuthor: "backend-engineer <backend-engineer@loom.invalid>",
		Committer: "Loom engineering-manager <engineering-manager@loom.invalid>", ExpectedCommitter: "Loom engineering-manager <engineering-manager@loom.invalid>",
		Hooks: []*loomv1.HookResult{{Name: "pre-commit"}, {Name: "prepare-commit-msg", Skipped: true}, {Name: "commit-msg"}},
	}
	if diff := cmp.Diff(want, made, protocmp.Transform()); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg"} {
		remove(t, f.top, ".git/hooks/"+name)
	}
	again, runs, err := f.com.Candidate(t.Context(), f.request(1, 6, change))
	if err != nil || len(runs) != 0 {
		t.Fatalf("%v, %v", runs, err)
	}
	if diff := cmp.Diff(want, again, protocmp.Transform()); diff != "" {
		t.Errorf("found again (-want +got):\n%s", diff)
	}
}

// The author is not echoed: what git makes of a name shows.
func TestWF14_LOCK04_TheAuthorIsReadBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	req := f.request(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	req.Author.Name = "backend-engineer."
	made, _, err := f.com.Candidate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	const address = " <backend-engineer@loom.invalid>"
	if made.GetAuthor() != "backend-engineer"+address || made.GetExpectedAuthor() != "backend-engineer."+address || len(made.GetHooks()) != 0 {
		t.Errorf("author %q, asked for %q, hooks %v", made.GetAuthor(), made.GetExpectedAuthor(), made.GetHooks())
	}
}

// A trailer that says nothing of how a hook ended does not say that it passed.
func TestWF14_HookResults(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]*loomv1.HookResult{
		"":                                  nil,
		"pre-commit=0 commit-msg=skipped":   {{Name: "pre-commit"}, {Name: "commit-msg", Skipped: true}},
		"pre-commit=3 x commit-msg=perhaps": {{Name: "pre-commit", ExitCode: 3}, {Name: "x", ExitCode: -1}, {Name: "commit-msg", ExitCode: -1}},
	} {
		if diff := cmp.Diff(want, hookResults(line), protocmp.Transform()); diff != "" {
			t.Errorf("hookResults(%q) (-want +got):\n%s", line, diff)
		}
	}
	runs := []HookRun{{Name: SetupName}, {Name: "pre-commit"}, {Name: "commit-msg", Skipped: true}}
	if got := hookLine(runs); got != "pre-commit=0 commit-msg=skipped" {
		t.Errorf("hookLine = %q", got)
	}
}
