package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// hook puts a pre-commit hook into a repository.
func hook(t *testing.T, repository, script string) {
	t.Helper()
	path := filepath.Join(repository, ".git", "hooks", "pre-commit")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A hook that does not let the change through sends the work back, three times;
// then the CEO is asked, with the hook's own words. Nothing lands.
func TestWF05_HooksThatRefuseOrHang(t *testing.T) {
	for _, tt := range []struct{ name, script, code, says string }{
		{"F24 refuses", "echo no commits on Saturdays >&2\nexit 1\n", "git/hook-failed", "no commits on Saturdays"},
		{"F25 hangs", "echo waiting for the moon\nsleep 1000 &\nsleep 1000\n", "git/hook-timeout", "waiting for the moon"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChaos(t)
			j := c.job("shop")
			hook(t, j.repository, tt.script)
			c.place.flags = []string{"--hook-timeout", "300ms"}
			h := c.place.start(t)
			leave := c.attend(h, j)
			c.record.await(t, h, "shop", func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil })
			leave()
			h.stop(syscall.SIGTERM)
			c.escalated(tt.code, tt.says)
			if n := c.count(func(e *loomv1.Event) bool { return e.GetReworkStarted() != nil }); n != 3 {
				t.Errorf("the work was sent back %d times, want 3", n)
			}
			untouched(t, j)
			left(t, c.place)
		})
	}
}

// escalated checks what the CEO was asked: to approve each try, and at last why
// nothing helps.
func (c *chaos) escalated(code, says string) {
	t := c.t
	t.Helper()
	var approvals, escalations int
	for _, n := range c.record.seen {
		a := n.Event.GetApprovalRequested().GetApproval()
		if a == nil {
			continue
		}
		if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
			approvals++
			continue
		}
		escalations++
		last := &loomv1.Outcome{}
		if len(a.History) > 0 {
			last = a.History[len(a.History)-1].Outcome
		}
		if last.Code != code || !strings.Contains(last.Notes, says) {
			t.Errorf("the last try ended with %s, %q; want %s and %q", last.Code, last.Notes, code, says)
		}
		if !strings.Contains(a.Reason, says) || len(a.NextSteps) == 0 {
			t.Errorf("the escalation says %q and proposes %q, want %q in it and a proposal", a.Reason, a.NextSteps, says)
		}
	}
	if approvals != 4 || escalations != 1 {
		t.Errorf("%d approvals and %d escalations, want 4 and 1", approvals, escalations)
	}
}

// count counts events of all that was told.
func (c *chaos) count(ok func(*loomv1.Event) bool) (n int) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	for _, s := range c.record.seen {
		if ok(s.Event) {
			n++
		}
	}
	return n
}

// untouched checks that nothing has landed.
func untouched(t *testing.T, j *job) {
	t.Helper()
	if head := git(t, j.repository, "rev-parse", "main"); head != j.base {
		t.Errorf("main has moved from %s to %s", j.base, head)
	}
	if branches := git(t, j.repository, "for-each-ref", "--format=%(refname)", "refs/heads"); branches != "refs/heads/main" {
		t.Errorf("branches are %s, want main alone", branches)
	}
	if s := git(t, j.repository, "status", "--porcelain"); s != "" {
		t.Errorf("the checkout has changed:\n%s", s)
	}
}

// A checkout with work in it is left as it is, to the byte; the commit is on a
// branch of its own, and what the landing says brings it in.
func TestP17_DirtyCheckoutKeepsItsWork(t *testing.T) {
	c := newChaos(t)
	j := c.job("shop")
	write(t, filepath.Join(j.repository, "README.md"), "my own words\n")
	write(t, filepath.Join(j.repository, "notes.txt"), "not for git\n")
	write(t, filepath.Join(j.repository, "staged.go"), "package shop\n")
	git(t, j.repository, "add", "staged.go")
	before := checkout(t, j.repository)
	h := c.place.start(t)
	leave := c.attend(h, j)
	landed := c.record.await(t, h, "shop", func(e *loomv1.Event) bool { return e.GetLanded() != nil }).Event.GetLanded().Landing
	c.record.await(t, h, "shop", func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil })
	leave()
	h.stop(syscall.SIGTERM)
	if diff := cmp.Diff(before, checkout(t, j.repository)); diff != "" {
		t.Errorf("the checkout (-before +after):\n%s", diff)
	}
	if landed.Ref != "refs/heads/loom/landed" || git(t, j.repository, "rev-parse", "loom/landed^") != j.base {
		t.Errorf("landed on %s, want loom/landed, one commit after main", landed.Ref)
	}
	_, advice, ok := strings.Cut(landed.Checkout, "take the commit with: git ")
	if !ok {
		t.Fatalf("the landing does not say how to take the commit: %q", landed.Checkout)
	}
	git(t, j.repository, strings.Fields(advice)...)
	before["HEAD"] = landed.Commit
	after := checkout(t, j.repository)
	before["cart/cart.go"] = strings.Replace(before["cart/cart.go"], "total > FreeShippingFrom", "total >= FreeShippingFrom", 1)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the checkout after \"git %s\" (-want +got):\n%s", advice, diff)
	}
	sound(t, j.repository)
}

// checkout is everything that a person sees of a checkout: files, index, HEAD.
func checkout(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{
		"HEAD": git(t, dir, "rev-parse", "HEAD"), "branch": git(t, dir, "symbolic-ref", "HEAD"),
		"index": git(t, dir, "diff", "--cached"), "status": git(t, dir, "status", "--porcelain"),
	}
	for _, name := range strings.Fields(git(t, dir, "ls-files", "--cached", "--others")) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}
