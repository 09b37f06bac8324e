package git

import (
	"flag"
	"fmt"
	"path/filepath"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
)

// What a person may be doing while Loom works.
var doings = map[string]func(f *fixture, n int){
	"nothing": func(*fixture, int) {},
	"edits":   func(f *fixture, n int) { f.write("a.txt", fmt.Sprint("mine ", n, "\n")) },
	"stages": func(f *fixture, n int) {
		f.write("dir/b.txt", fmt.Sprint("mine ", n, "\n"))
		f.user("add", "dir/b.txt")
	},
	"adds untracked": func(f *fixture, n int) { f.write("untracked", fmt.Sprint(n)) },
	"adds ignored":   func(f *fixture, n int) { f.write("new.log", fmt.Sprint(n)) },
	"removes":        func(f *fixture, n int) { remove(f.t, f.top, "a.txt") },
	"commits": func(f *fixture, n int) {
		f.write(fmt.Sprint("mine", n), "x")
		f.user("add", fmt.Sprint("mine", n))
		f.user("commit", "-q", "-m", "mine")
	},
	"cleans up":   func(f *fixture, n int) { f.user("reset", "-q", "--hard") },
	"leaves main": func(f *fixture, n int) { f.user("checkout", "-q", "-f", "-B", "side") },
	"comes back":  func(f *fixture, n int) { f.user("checkout", "-q", "-f", "main") },
}

// What Loom's changes may do.
var edits = map[string]func(root string, n int){
	"a.txt":     func(root string, n int) { f2("a.txt", fmt.Sprint("loom ", n, "\n"))(root) },
	"dir/b.txt": func(root string, n int) { f2("dir/b.txt", fmt.Sprint("loom ", n, "\n"))(root) },
	"untracked": func(root string, n int) { f2("untracked", fmt.Sprint("loom ", n, "\n"))(root) },
	"new.log": func(root string, n int) {
		f2(".gitignore", fmt.Sprint("# ", n, "\n"))(root)
		f2("new.log", fmt.Sprint("loom ", n, "\n"))(root)
	},
}

// Whatever a person does, and whatever lands: their checkout (files, index,
// untracked and ignored files) is as they left it, unless it was clean and the
// landing says that it was fast-forwarded, and then it is clean again. Each
// change is in the history exactly once.
func TestP17_LOCK05_AnyMixOfPersonAndLoom(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	few(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		token := uint64(1)
		for n := 1; n <= rapid.IntRange(1, 3).Draw(rt, "landings"); n++ {
			pick(rt, "before", doings)(f, 10*n)
			edit := pick(rt, "edit", edits)
			w := f.workspace(n)
			edit(w.Path(), n)
			change, _, err := w.Change(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			pick(rt, "between", doings)(f, 10*n+1)
			before, clean := state(t, f.top), f.status() == ""
			made, _, err := f.com.Candidate(t.Context(), f.request(n, token, change))
			token++
			if state(t, f.top) != before {
				rt.Fatal("making a candidate changed the checkout")
			}
			if err != nil {
				continue // the person was there first
			}
			landing, err := f.com.Land(t.Context(), f.landRequest(n, token, made))
			token++
			if err != nil {
				rt.Fatal(err)
			}
			if f.copies(n, landing.GetRef()) != 1 {
				rt.Fatalf("%d copies on %s", f.copies(n, landing.GetRef()), landing.GetRef())
			}
			followed := landing.GetRef() == "refs/heads/main" && f.head("HEAD") == landing.GetCommit()
			switch {
			case state(t, f.top) == before:
			case !followed:
				rt.Fatalf("the checkout changed, though the landing is %v", landing)
			case clean && f.status() != "":
				rt.Fatalf("a clean checkout is now %q", f.status())
			}
			if exists(filepath.Join(f.repo.common, "index.lock")) {
				rt.Fatal("the index is locked")
			}
		}
	})
}

func pick[F any](rt *rapid.T, label string, from map[string]F) F {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	sort.Strings(names)
	return from[rapid.SampledFrom(names).Draw(rt, label)]
}

// few keeps the number of cases small where each takes half a second; a number
// given on the command line stands.
func few(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set("12"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
}
