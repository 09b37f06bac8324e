package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/identity"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A repository is read by who may read, in one's own projects, as its branches have it
// and not as a checkout or a stash does, and without secrets.
func TestUI01_SEC01_FilesAreReadByWhoMayRead(t *testing.T) {
	all := two(t, identity.Request{Name: "eve", Kind: identity.Observer, Projects: []string{"shop"}})
	eve, ctx := all["eve"], t.Context()
	v, err := eve.Project(ctx, &loomv1.Query{Project: "shop"})
	if err != nil || len(v.Projects) != 1 {
		t.Fatalf("project shop: %v %v", v, err)
	}
	top := v.Projects[0].Repository
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = top, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@e", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@e")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	put := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(top, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.txt", "stashed hunter2\n")
	git("stash")
	put("config.txt", "key = "+laterSecret+"\nname = x\n")
	git("add", "config.txt")
	git("commit", "-qm", "take in "+laterSecret)
	put("secret.txt", "hunter2\n")

	list, err := eve.Files(ctx, &loomv1.FilesRequest{Project: "shop"})
	if err != nil || !strings.Contains(list.String(), "config.txt") || strings.Contains(list.String(), "secret.txt") {
		t.Errorf("the top: %v %v", list, err)
	}
	if rest, err := eve.Files(ctx, &loomv1.FilesRequest{Project: "shop", After: "a.txt"}); err != nil || len(rest.Entries) != len(list.Entries)-1 {
		t.Errorf("behind the first: %v %v", rest, err)
	}
	if _, err := eve.Files(ctx, &loomv1.FilesRequest{Project: "shop", After: "nothing"}); fault.Code(err) != "git/unknown-line" {
		t.Errorf("behind what is not there: %v", err)
	}
	file, err := eve.File(ctx, &loomv1.FileRequest{Project: "shop", Path: "config.txt"})
	if err != nil || !strings.Contains(string(file.Data), "name = x") || file.V != list.Commit {
		t.Errorf("a file: %v %v", file, err)
	}
	blame, err := eve.Blame(ctx, &loomv1.BlameRequest{Project: "shop", Path: "config.txt"})
	if err != nil || len(blame.Spans) != 1 || blame.Spans[0].Lines != 2 || blame.Commits[0].Author != "U" {
		t.Errorf("its lines: %v %v", blame, err)
	}
	commits, err := eve.Commits(ctx, &loomv1.CommitsRequest{Project: "shop", Limit: 1})
	if err != nil || len(commits.Commits) != 1 || commits.Next == "" {
		t.Errorf("its history: %v %v", commits, err)
	}
	diff, err := eve.Compare(ctx, &loomv1.CompareRequest{Project: "shop"})
	if err != nil || len(diff.Files) != 1 || !diff.Files[0].Created || diff.Files[0].Added != 2 || !strings.Contains(diff.Diff, "+name = x") {
		t.Errorf("its last change: %v %v", diff, err)
	}
	for what, text := range map[string]string{"file": string(file.Data), "blame": blame.String(), "commits": commits.String(), "diff": diff.Diff} {
		if strings.Contains(text, laterSecret) {
			t.Errorf("the %s has the key: %s", what, text)
		}
	}
	for what, ask := range map[string]func() error{
		"request/denied": func() error {
			_, err := eve.Files(ctx, &loomv1.FilesRequest{Project: "other"})
			return err
		},
		"git/unknown-branch": func() error {
			_, err := eve.File(ctx, &loomv1.FileRequest{Project: "shop", Path: "a.txt", V: "stash"})
			return err
		},
		"git/unknown-line": func() error {
			_, err := eve.File(ctx, &loomv1.FileRequest{Project: "shop", Path: "secret.txt"})
			return err
		},
		"usage/argument": func() error {
			_, err := eve.File(ctx, &loomv1.FileRequest{Project: "shop", Path: "a.txt", Limit: 1 << 30})
			return err
		},
	} {
		if err := ask(); fault.Code(err) != what {
			t.Errorf("%v, want %s", err, what)
		}
	}
}
