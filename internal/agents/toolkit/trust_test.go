package toolkit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
)

func TestPROC07_Trust(t *testing.T) {
	dir := t.TempDir()
	trust := toolkit.NewTrust(dir)
	files := []processes.ToolFile{{Name: "a", Program: true, Data: []byte("#!/bin/sh\n")}, {Name: "lib/b.txt", Data: []byte("b")}}
	pin := toolkit.Pin{Process: "tender", Digest: processes.ToolsDigest(files)}
	if err := trust.Add(pin, files); fault.Code(err) != "data/manifest" {
		t.Errorf("in a directory that is nobody's: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := trust.Add(pin, files[:1]); fault.Code(err) != "process/tool-changed" {
		t.Errorf("other files than those of the digest: %v", err)
	}
	for range 2 {
		if err := trust.Add(pin, files); err != nil {
			t.Fatal(err)
		}
	}
	got, at, err := trust.Open("tender", pin.Digest)
	if err != nil || got.Process != "tender" {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, want := range map[string]os.FileMode{"a": 0o500, "lib/b.txt": 0o400, ".": 0o700} {
		if info, err := os.Stat(filepath.Join(at, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := trust.Add(toolkit.Pin{Process: "other", Digest: pin.Digest}, files); err != nil {
		t.Fatal(err)
	}
	if err := trust.Remove("tender"); err != nil {
		t.Error(err)
	}
	if _, _, err := trust.Open("other", pin.Digest); err != nil {
		t.Errorf("one took the files of the other: %v", err)
	}
	if err := trust.Remove("tender"); fault.Code(err) != "process/unknown" {
		t.Errorf("once more: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "toolkits.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Find("other", pin.Digest); fault.Code(err) != "process/trust" {
		t.Errorf("a list that others may read: %v", err)
	}
}
