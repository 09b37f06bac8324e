package browser_test

import (
	"os"
	"path/filepath"
	"testing"

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
