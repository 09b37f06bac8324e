package key

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
)

// A key that was made for an order which nobody took leaves no file behind; one that may
// be enrolled, and one that was there before, stay.
func TestSIGN02_ARefusedKeyLeavesNoFile(t *testing.T) {
	refusal := fault.New("command/unauthorized", "no")
	for _, tt := range []struct {
		name  string
		there bool
		taken bool
		err   error
		stays bool
	}{
		{"refused", false, false, refusal, false},
		{"taken by the first project, and refused by another", false, true, refusal, true},
		{"taken", false, true, nil, true},
		{"refused, of a key that was there", true, false, refusal, true},
	} {
		file := filepath.Join(t.TempDir(), "phone.nk")
		if tt.there {
			if _, _, err := keyOf("phone", file, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		_, made, err := keyOf("phone", file, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := unmade(made, tt.taken, tt.err); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
		if _, err := os.Stat(file); (err == nil) != tt.stays {
			t.Errorf("%s: the file is there: %t, want %t", tt.name, err == nil, tt.stays)
		}
	}
}

func TestSIGN02_WhatIsSureToBeRefused(t *testing.T) {
	for code, want := range map[string]bool{"command/unauthorized": true, "key/missing": true, "host/unavailable": false, "host/silent": false} {
		if got := refused(fault.New(code, "no")); got != want {
			t.Errorf("%s is refused for sure: %t, want %t", code, got, want)
		}
	}
	if refused(nil) {
		t.Error("an order that was taken is refused")
	}
}
