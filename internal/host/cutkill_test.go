package host_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	cutKills      = flag.Int("cut.kills", 0, "kill a host so often at a step of a cut")
	cutExecutions = flag.Int("cut.executions", 0, "measure what a cut frees after so many executions")
)

// What the child process of the test is told.
const cutAt, cutData = "LOOM_TEST_CUT_AT", "LOOM_TEST_CUT_DATA"

// cutIfAsked runs a host that is killed when it comes to a step of a cut, if
// this process is to be one.
func cutIfAsked() {
	step := os.Getenv(cutAt)
	if step == "" {
		return
	}
	data := os.Getenv(cutData)
	h, err := host.Start(context.Background(), host.Config{Data: data, Model: scripted.New("quick", nothing), CEOKey: filepath.Join(data, "..", "ceo.nk"), Unsandboxed: true})
	if err == nil {
		host.CutCalls(h, func(s string) error {
			if s == step {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		nc, _ := h.Connect("operator")
		_, err = client.New(nc).Retention(context.Background(), &loomv1.RetentionRequest{Keep: 1})
	}
	fmt.Println("was to be killed at", step, err)
	os.Exit(3)
}

// TestOPS03_F1_KilledAtEachStepOfACut kills a real process at the steps of a cut,
// one after the other; the next start finds none of it or the whole.
func TestOPS03_F1_KilledAtEachStepOfACut(t *testing.T) {
	if *cutKills == 0 {
		t.Log("NOT RUN: ask for it with -cut.kills N")
		return
	}
	c := config(t, scripted.New("quick", nothing))
	h := start(t, c)
	ctx := context.WithoutCancel(t.Context())
	people := connect(t, h, "operator")
	filed, err := people.Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	ended(ctx, t, people, filed.Bead)
	want := seen(t, people, filed.Bead)
	h.Stop(ctx)
	c.Projects = nil
	for i := range *cutKills {
		step := retention.Steps[i%len(retention.Steps)]
		child := exec.Command(os.Args[0], "-test.run", "^$")
		child.Env = append(os.Environ(), cutAt+"="+step, cutData+"="+c.Data)
		if out, err := child.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%d: killed at %q: %v: %s", i, step, err, out)
		}
		h := start(t, c)
		people := connect(t, h, "operator")
		if seen(t, people, filed.Bead) != want {
			t.Errorf("%d: killed at %q: it is shown otherwise", i, step)
		}
		more := report()
		more.Message, more.IdempotencyKey = fmt.Sprint("after ", i), fmt.Sprint(i)
		if _, err := people.Report(ctx, more); err != nil {
			t.Errorf("%d: killed at %q: %v", i, step, err)
		}
		h.Stop(ctx)
		journalsHold(t, c.Data)
	}
}

// journalsHold fails if verifying finds damage.
func journalsHold(t *testing.T, data string) {
	t.Helper()
	s, err := vault.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Damage {
		t.Errorf("verify: %v", d)
	}
}

// TestOPS03_WhatACutFrees prints what journals, archives and blobs have on the
// disk before and after a cut.
func TestOPS03_WhatACutFrees(t *testing.T) {
	if *cutExecutions == 0 {
		t.Log("NOT RUN: ask for it with -cut.executions 600")
		return
	}
	c := config(t, scripted.New("quick", nothing))
	h := start(t, c)
	people := connect(t, h, "operator")
	ctx := context.WithoutCancel(t.Context())
	var last string
	for i := range *cutExecutions {
		reply, err := people.Submit(ctx, &loomv1.Submission{Project: "shop", Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: fmt.Sprint("look at part ", i)})
		if err != nil {
			t.Fatal(err)
		}
		last = reply.Bead
		ended(ctx, t, people, last)
	}
	bytes := func(when string) {
		for _, part := range []string{"LOOM_J_*", "OBJ_LOOM_BLOB", "OBJ_LOOM_SNAP"} {
			t.Logf("%s: %s has %d bytes", when, part, size(t, filepath.Join(c.Data, "jetstream/CORE/streams", part, "msgs")))
		}
		t.Logf("%s: archives have %d bytes", when, size(t, filepath.Join(c.Data, "archive")))
	}
	bytes("before")
	began := time.Now()
	cut, err := retained(t, people)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cut %d batches, %d events, %d bytes of batches in %v; archive %d bytes, base %d", cut.Cut.Batches, cut.Cut.Events, cut.Bytes, time.Since(began), cut.Cut.ArchiveBytes, sum(cut.Cut.Base))
	h.Stop(ctx)
	bytes("after")
}

func sum(parts []*loomv1.BlobRef) (n uint64) {
	for _, p := range parts {
		n += p.Size
	}
	return n
}

// size returns the bytes of the files below all directories that match.
func size(t *testing.T, pattern string) (n int64) {
	t.Helper()
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if info, err := e.Info(); err == nil {
					n += info.Size()
				}
			}
			return nil
		})
	}
	return n
}
