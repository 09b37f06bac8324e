package setup

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Keep says what the result of a step depends on, and which directories it is: from
// these, a later checkout that asks for the same is made ready by copying. The zero
// Keep says that the step runs in every checkout.
type Keep struct {
	// Reads are the files of the checkout, by path, that the result depends on. What
	// is not there counts as that.
	Reads []string
	// Makes are the directories that are the result, by path.
	Makes []string
	// Then is a command line that runs on a copy: what the step does to the checkout
	// itself. Empty means nothing.
	Then string
}

// Keeps reports whether a step's result can be kept.
func (s Step) Keeps() bool { return len(s.Keep.Makes) > 0 }

// Onto is what is run for a step on a copy of its kept result.
func (s Step) Onto() string { return s.guarded(s.Keep.Then) }

// mostRead bounds each file that a result depends on.
const mostRead = 64 << 20

// Key names the result of a step in a checkout: it is the hash of the command, of
// the content of the files that it depends on and of facts of the machine, such as
// its tools. It refuses files that are links or too large.
func (s Step) Key(files fs.FS, facts []string) (string, error) {
	h := sha256.New()
	write := func(name, value string) { fmt.Fprintf(h, "%q %q\n", name, value) }
	write("command", s.Command)
	for _, dir := range s.Keep.Makes {
		write("makes", dir)
	}
	for _, name := range s.Keep.Reads {
		sum, err := contentOf(files, name)
		if err != nil {
			return "", err
		}
		write("reads "+name, sum)
	}
	for _, fact := range facts {
		write("fact", fact)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// contentOf returns the hash of a regular file, and "none" where there is nothing.
func contentOf(files fs.FS, name string) (string, error) {
	info, err := fs.Lstat(files, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "none", nil
		}
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > mostRead {
		return "", fmt.Errorf("%s is not a regular file of at most %d MiB", name, mostRead>>20)
	}
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, mostRead)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// Programs are the words of a step's command that could be programs: their versions
// are facts of its result. A script language is one where a tool is written in it.
func (s Step) Programs() []string {
	words := strings.FieldsFunc(s.Command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`$={}<>", r) })
	words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsRune(w, '/') || strings.HasPrefix(w, "-") })
	words = append(words, "node", "python3", "ruby", "rustc", "elixir", "cc")
	slices.Sort(words)
	return slices.Compact(words)
}

// choosers are files by which version managers choose a tool for a directory.
var choosers = []string{".nvmrc", ".node-version", ".tool-versions", "mise.toml", ".mise.toml", ".ruby-version", ".python-version", "rust-toolchain", "rust-toolchain.toml"}

// named is the one step of a project that says what its commands read and make:
// they make one result together.
func named(w Wants) Step {
	command := w.Commands[0]
	if len(w.Commands) > 1 {
		command = "( " + strings.Join(w.Commands, "\n) && ( ") + "\n)"
	}
	return Step{Command: command, Keep: Keep{Reads: slices.Concat(w.Reads, choosers), Makes: w.Makes}}
}

// keepNode says what npm's result depends on. Where a package lies in the checkout
// itself, or the checkout is built when it is installed, its result is more than
// node_modules and is not kept. Scripts of the checkout's own package.json run after
// the installation of the others, in every checkout.
func keepNode(files fs.FS, lock string) Keep {
	if has(files, "binding.gyp") || !fromIndex(files, lock) {
		return Keep{}
	}
	own, sound := rootScripts(files)
	if !sound {
		return Keep{}
	}
	then := ""
	if len(own) > 0 {
		then = `[ "$(npm config get ignore-scripts)" = true ] || { set -e`
		for _, event := range own {
			then += "; npm run --ignore-scripts " + event
		}
		then += "; }"
	}
	return Keep{Reads: slices.Concat([]string{"package.json", lock, ".npmrc"}, choosers), Makes: []string{"node_modules"}, Then: then}
}

// fromIndex reports whether all packages of npm's lock file lie in node_modules and
// none is a link.
func fromIndex(files fs.FS, lock string) bool {
	var l struct {
		Packages map[string]struct {
			Link     bool
			Resolved string
		}
	}
	if !readJSON(files, lock, &l) || len(l.Packages) == 0 {
		return false
	}
	for at, p := range l.Packages {
		if at != "" && !strings.HasPrefix(at, "node_modules/") || p.Link || strings.HasPrefix(p.Resolved, "file:") {
			return false
		}
	}
	return true
}

// installEvents are the scripts of the checkout's package.json that "npm ci" runs
// after everything is installed, in its order.
var installEvents = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}

func rootScripts(files fs.FS) (present []string, sound bool) {
	var p struct{ Scripts map[string]string }
	if !readJSON(files, "package.json", &p) {
		return nil, false
	}
	for _, event := range installEvents {
		if p.Scripts[event] != "" {
			present = append(present, event)
		}
	}
	return present, true
}

func readJSON(files fs.FS, name string, to any) bool {
	info, err := fs.Lstat(files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
		return false
	}
	data, err := fs.ReadFile(files, name)
	return err == nil && json.Unmarshal(data, to) == nil
}

// keepCrates says what a fetch of crates into the checkout depends on. Whether the
// manifests agree with the lock file is asked in every checkout.
func keepCrates() Keep {
	return Keep{
		Reads: slices.Concat([]string{"Cargo.lock", "Cargo.toml", ".cargo/config.toml", ".cargo/config"}, choosers),
		Makes: []string{CargoHome}, Then: `CARGO_HOME="$PWD/` + CargoHome + `" cargo fetch --locked --offline`,
	}
}

// plainPath is what a path may consist of that a shell is told.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9._@+/-]+$`)

// CheckKept refuses what is not the path of something in a checkout.
func CheckKept(paths []string) error {
	for _, p := range paths {
		if !fs.ValidPath(p) || p == "." || !plainPath.MatchString(p) || p == ".git" || strings.HasPrefix(p, ".git/") {
			return fault.New("usage/argument", "not the path of something in a checkout").Got(p).
				Want("a path from its top, of letters, digits and . _ @ + / -, such as node_modules")
		}
	}
	return nil
}
