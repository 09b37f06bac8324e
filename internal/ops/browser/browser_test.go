package browser_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/ops/browser"
)

// The person's own choice gets the address, and none is made where there is no screen.
func TestUI01_TheAddressGoesToTheChosenBrowser(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	if err := os.WriteFile(own, []byte("#!/bin/sh\nprintf %s \"$1\" > \""+dir+"/seen\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", own)
	if got := browser.Command(); got != own {
		t.Fatalf("Command = %q, want %q", got, own)
	}
	address := "http://localhost:7420/sign-in?link=$(id)"
	if err := browser.Show(t.Context(), own, address); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "seen")); err != nil || string(data) != address {
		t.Errorf("it was given %q, %v; want %q", data, err, address)
	}
	t.Setenv("BROWSER", filepath.Join(dir, "none"))
	if got := browser.Command(); got != "" {
		t.Errorf("a browser that is not there: %q", got)
	}
}

// A command that is the browser itself goes on, and is not ended for it.
func TestUI01_ABrowserThatStaysIsLeftAlone(t *testing.T) {
	defer browser.SetWithin(50 * time.Millisecond)()
	dir := t.TempDir()
	own, gate := filepath.Join(dir, "own"), filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("#!/bin/sh\nread _ < "+gate+"\necho over > "+gate+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := browser.Show(t.Context(), own, "http://localhost:7420/"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, []byte("on\n"), 0o600); err != nil { // waits for its reader
		t.Fatal(err)
	}
	if said, err := os.ReadFile(gate); err != nil || string(said) != "over\n" {
		t.Errorf("it said %q, %v", said, err)
	}
}
