package processes_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

var update = flag.Bool("update", false, "write the expectations anew")

// listing prints every problem as FILE:LINE:COL: CODE: sentence.
func listing(err error) string {
	first, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return "no error\n"
	}
	var b strings.Builder
	for _, e := range append([]*fault.Error{first}, first.More...) {
		where, rest, _ := strings.Cut(e.Error(), ": ")
		b.WriteString(where + ": " + e.Code + ": " + rest + "\n")
	}
	return b.String()
}

// Each file in testdata/broken is wrong in its own way; the .want beside it
// lists what must be said about it.
func TestWF02_BrokenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d broken files, %v; want at least 25", len(files), err)
	}
	rs := roles.Builtin()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run("WF02 "+name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			def, err := processes.Parse(filepath.Base(file), data, rs)
			if err == nil || def != nil {
				t.Fatalf("Parse accepted it: %v", def)
			}
			want := strings.TrimSuffix(file, ".yaml") + ".want"
			if *update {
				if err := os.WriteFile(want, []byte(listing(err)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			wanted, _ := os.ReadFile(want)
			if diff := cmp.Diff(string(wanted), listing(err)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
