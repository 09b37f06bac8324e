package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestP4_LookingChangesNothing looks at a directory that a host has, and at one
// that none has.
func TestP4_LookingChangesNothing(t *testing.T) {
	longtest.Skip(t)
	path := t.TempDir()
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(path, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := datadir.Peek(path); err != nil || m.Deployment != d.Manifest().Deployment {
		t.Errorf("Peek beside a host: %v, %v", m, err)
	}
	if _, _, err := datadir.Hold(path); fault.Code(err) != "data/locked" {
		t.Errorf("Hold beside a host: %v, want data/locked", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, release, err := datadir.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Open(path); fault.Code(err) != "data/locked" {
		t.Errorf("Open of what is held: %v, want data/locked", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(path, "manifest.json")); err != nil || string(after) != string(before) {
		t.Errorf("the manifest was changed: %v", err)
	}
	empty := t.TempDir()
	if _, _, err := datadir.Hold(empty); fault.Code(err) != "data/manifest" {
		t.Errorf("Hold of nothing: %v, want data/manifest", err)
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("looking left %v, %v", entries, err)
	}
}

// TestP7_CreateTakesAManifestIntoAnEmptyDirectoryAlone makes directories as a
// restore does.
func TestP7_CreateTakesAManifestIntoAnEmptyDirectoryAlone(t *testing.T) {
	d, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := d.Manifest()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	m.Epoch = 5
	path := filepath.Join(t.TempDir(), "new")
	if d, err = datadir.Create(path, m); err != nil || d.Manifest().Epoch != 5 {
		t.Fatalf("Create: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Create(path, m); fault.Code(err) != "data/not-empty" {
		t.Errorf("Create over it: %v, want data/not-empty", err)
	}
	m.Epoch = 0
	if _, err := datadir.Create(t.TempDir(), m); err == nil {
		t.Error("a manifest that is not sound was taken")
	}
}
