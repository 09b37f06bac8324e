package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stopped runs a host once, over a repository, and stops it.
func stopped(t *testing.T) host.Config {
	t.Helper()
	c := config(t, scripted.New("quick", nothing))
	h, err := host.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h.Stop(context.WithoutCancel(t.Context()))
	return c
}

// refused starts a host that must be refused with this code and words.
func refused(t *testing.T, c host.Config, code string, words ...string) {
	t.Helper()
	h, err := host.Start(t.Context(), c)
	if err == nil {
		h.Stop(context.WithoutCancel(t.Context()))
	}
	if fault.Code(err) != code {
		t.Fatalf("started: %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: it does not say %q", err, w)
		}
	}
}

// TestP3_AJournalThatLostItsEndIsRefused cuts the newest record off the journal
// with most in it, and takes the tables away, so that the marks alone tell.
func TestP3_AJournalThatLostItsEndIsRefused(t *testing.T) {
	c := stopped(t)
	marks, unsound, err := headmark.Read(filepath.Join(c.Data, headmark.Name))
	if err != nil || unsound > 0 || len(marks) == 0 {
		t.Fatalf("%d marks, %d unsound, %v", len(marks), unsound, err)
	}
	most := -1
	for p, m := range marks {
		if most < 0 || m.Head.Sequence > marks[most].Head.Sequence {
			most = p
		}
	}
	stream := fmt.Sprintf("LOOM_J_%02d", most)
	name := filepath.Join(c.Data, "jetstream", "CORE", "streams", stream, "msgs", "1.blk")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.Data, "projection.db")); err != nil {
		t.Fatal(err)
	}
	refused(t, c, "journal/behind", stream, fmt.Sprintf("sequence %d ", marks[most].Head.Sequence))
	refused(t, c, "journal/behind", stream) // and again: the mark stays
}

// TestP24_AJournalWhoseFirstWriteFailedBeginsAnew has the first write of all to a journal
// fail, after which its server refuses every other first one. The next start mends that,
// also after one that crashed between the steps.
func TestP24_AJournalWhoseFirstWriteFailedBeginsAnew(t *testing.T) {
	c := config(t, scripted.New("quick", nothing))
	h := start(t, c)
	h.Stop(t.Context())
	marks, _, err := headmark.Read(filepath.Join(c.Data, headmark.Name))
	if err != nil {
		t.Fatal(err)
	}
	unused := 0
	for marks[unused].Head.Sequence > 0 {
		unused++
	}
	name := "project"
	for n := 0; h.PartitionOf(name) != unused; n++ {
		name = fmt.Sprintf("project%d", n)
	}
	c.Projects, c.Model = append(c.Projects, host.Project{ID: name, Repository: config(t, c.Model).Projects[0].Repository}), scripted.New("quick", nothing)

	h = start(t, host.Config{Data: c.Data, Model: c.Model, CEOKey: c.CEOKey, Unsandboxed: true})
	if err := h.FailFirstWrite(t.Context(), unused); err != nil {
		t.Fatal(err)
	}
	h.Stop(t.Context())
	dir, err := datadir.Open(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.Renewing(fmt.Sprintf("LOOM_J_%02d", unused)), dir.Close()); err != nil { // and crashed there
		t.Fatal(err)
	}
	h = start(t, c)
	view, err := connect(t, h, "operator").Project(t.Context(), &loomv1.Query{Project: name})
	if err != nil || len(view.Projects) != 1 {
		t.Fatalf("the project of that journal: %v, %v", view, err)
	}
	h.Stop(t.Context())
	start(t, c) // it is there, and whole
}

// TestP7_AJournalThatGitHasSeenMoreOfIsRefused raises the repository's fence
// above all grants of the journal, as an old copy of the directory would find
// it. A restore raises the epoch, and goes on.
func TestP7_AJournalThatGitHasSeenMoreOfIsRefused(t *testing.T) {
	c := stopped(t)
	dir, err := datadir.Open(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	m := dir.Manifest()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	raise := func(token uint64) {
		script := fmt.Sprintf("git update-ref refs/loom/fence/%s $(printf 'token %d\\n' | git hash-object -w --stdin)", m.Deployment, token)
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = c.Projects[0].Repository
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	raise(commitlock.Token(1, 999))
	refused(t, c, "journal/behind", "LOOM_J_", `"shop"`, fmt.Sprint(commitlock.Token(1, 999)))
	manifest := filepath.Join(c.Data, "manifest.json")
	data, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`,\s*"sum": "[^"]*"`).ReplaceAllString(string(data), "")
	if err := os.WriteFile(manifest, []byte(strings.Replace(text, `"epoch": 1`, `"epoch": 2`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, c).Stop(context.WithoutCancel(t.Context()))
	raise(commitlock.Token(3, 1))
	refused(t, c, "journal/behind")
}

// TestP7_AnOldManifestIsRefused puts the manifest of an earlier start back: its
// starts were counted already.
func TestP7_AnOldManifestIsRefused(t *testing.T) {
	c := stopped(t)
	manifest := filepath.Join(c.Data, "manifest.json")
	old, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, grace := range []time.Duration{3 * time.Minute, 4 * time.Minute} {
		c.Grace = grace // is an event
		start(t, c).Stop(context.WithoutCancel(t.Context()))
	}
	if err := os.WriteFile(manifest, old, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, c, "data/manifest", "start 1", "start 3")
}
