package histories

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/play"
)

// release is whose histories -write writes.
const release = 1

var (
	writes = flag.Bool("write", false, "write the histories of this release anew")
	only   = flag.String("only", "", "with -write: this history alone")
)

// stories are the histories of this release, by name.
var stories = map[string]func(*play.Shop){
	"landed":     play.Landed,
	"rework":     play.Rework,
	"escalation": play.Escalation,
	"troubles":   play.Troubles,
	"paused":     play.Paused,
	"overridden": play.Overridden,
	"nested":     play.Nested,
	"forked":     play.Forked,
	"limited":    play.Limited,
	"reserved":   play.Reserved,
	"linked":     play.Linked,
	"storm":      play.Storm,
	"voted":      play.Voted,
	"abandoned":  play.Abandoned,
	"imported":   play.Imported,
	"planned":    play.Planned,
	"teamed":     play.Teamed,
	"trusted":    play.Trusted,
}

func TestWF10_StoredHistoriesGiveTheSameState(t *testing.T) {
	longtest.Skip(t)
	for _, path := range list(t, "testdata/*/*.journal") {
		name := strings.TrimSuffix(path, ".journal")
		t.Run(strings.TrimPrefix(name, "testdata/"), func(t *testing.T) {
			known := map[string]bool{}
			for line := range strings.Lines(read(t, filepath.Join(filepath.Dir(path), "fields"))) {
				known[strings.TrimSpace(line)] = true
			}
			batches := load(t, path, func() *loomv1.Batch { return &loomv1.Batch{} })
			states := fold(t, batches)
			got := snapshots(states)
			for _, s := range got {
				trim(s.ProtoReflect(), known)
			}
			want := load(t, name+".state", func() *loomv1.ProjectState { return &loomv1.ProjectState{} })
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("state (-that release +this):\n%s", diff)
			}
			grown, rebuilt := tables(t, states, batches)
			if diff := cmp.Diff(read(t, name+".want"), grown); diff != "" {
				t.Errorf("what people see (-that release +this):\n%s", diff)
			}
			if diff := cmp.Diff(grown, rebuilt); diff != "" {
				t.Errorf("tables that were rebuilt (-grown +rebuilt):\n%s", diff)
			}
		})
	}
}

// What a release knew is in the contract for good: a field that is gone would be
// left out of every comparison without a word.
func TestWF10_WhatAReleaseKnewIsStillKnown(t *testing.T) {
	now := contract()
	for _, path := range list(t, "testdata/*/fields") {
		known := strings.Fields(read(t, path))
		if len(known) < 100 {
			t.Errorf("%s lists %d fields", path, len(known))
		}
		for _, f := range known {
			if _, found := slices.BinarySearch(now, f); !found {
				t.Errorf("%s lists %s, which the contract no longer has", path, f)
			}
		}
	}
}

func TestWrite(t *testing.T) {
	if !*writes {
		return // this is a tool
	}
	dir := fmt.Sprintf("testdata/%d", release)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, story := range stories {
		if *only != "" && *only != name {
			continue
		}
		var batches []*loomv1.Batch
		s := play.Open("shop", 0, func(b *loomv1.Batch) { batches = append(batches, b) })
		story(s)
		s.Flush()
		keep(t, filepath.Join(dir, name), batches)
	}
	if *only == "" || *only == "demo" {
		keep(t, filepath.Join(dir, "demo"), recordDemo(t))
	}
	if err := os.WriteFile(filepath.Join(dir, "fields"), []byte(strings.Join(contract(), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keep writes a history and what this release makes of it.
func keep(t *testing.T, name string, batches []*loomv1.Batch) {
	t.Helper()
	states := fold(t, batches)
	save(t, name+".journal", batches)
	save(t, name+".state", snapshots(states))
	want, _ := tables(t, states, batches)
	if err := os.WriteFile(name+".want", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
