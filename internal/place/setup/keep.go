package setup

import (
	"cmp"
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
	// By is the command line that makes the result, of the files that it depends on
	// and nothing else of the checkout. Empty means the step's command.
	By string
	// Then is a command line that runs on a copy: what the step does to the checkout
	// itself. Empty means nothing.
	Then string
}

// Keeps reports whether a step's result can be kept.
func (s Step) Keeps() bool { return len(s.Keep.Makes) > 0 }

// Making is what is run to make a result that is kept.
func (s Step) Making() string { return s.guarded(cmp.Or(s.Keep.By, s.Command)) }

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
	write("by", s.Keep.By)
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
	step := Step{Command: command, Keep: Keep{Reads: slices.Concat(w.Reads, choosers), Makes: w.Makes}}
	for _, dir := range w.Makes {
		step.Leaves = append(step.Leaves, dir+"/")
	}
	return step
}

// keepNode says what npm's result depends on: packages as they were published. What
// scripts make of them is not kept, because a script may read any file of the
// checkout, such as a schema that it makes a client of: they run in every checkout,
// those of the packages before those of the checkout's own package.json. Where a
// package lies in the checkout itself or is a repository, or the checkout is built
// when it is installed, nothing is kept.
func keepNode(files fs.FS, lock, command string) Keep {
	indexed, scripted := fromIndex(files, lock)
	own, sound := rootScripts(files)
	if !indexed || !sound || has(files, "binding.gyp") {
		return Keep{}
	}
	var then []string
	if len(scripted) > 0 { // by name: without one, the scripts of the checkout itself would run, too
		then = []string{"npm rebuild " + strings.Join(scripted, " ")}
	}
	if len(own) > 0 {
		then = append(then, `{ [ "$(npm config get ignore-scripts)" = true ] || { npm run --ignore-scripts `+strings.Join(own, " && npm run --ignore-scripts ")+"; }; }")
	}
	return Keep{
		Reads: slices.Concat([]string{"package.json", lock, ".npmrc"}, choosers), Makes: []string{"node_modules"},
		By: command + " --ignore-scripts", Then: strings.Join(then, " && "),
	}
}

// manifest is what package.json, and an entry of npm's lock file, says of packages
// that are wanted: a range of versions, or a place.
type manifest struct {
	Dependencies, DevDependencies, OptionalDependencies, PeerDependencies map[string]string
	Overrides                                                             any
	Scripts                                                               map[string]string
}

// published reports whether everything that is wanted is a version of something that
// was published. For anything else npm goes by the place that is named here, such as
// an archive in the checkout, whatever its lock file says.
func (m manifest) published() bool {
	for _, list := range []map[string]string{m.Dependencies, m.DevDependencies, m.OptionalDependencies, m.PeerDependencies} {
		for _, wanted := range list {
			if !isVersion(wanted) {
				return false
			}
		}
	}
	return areVersions(m.Overrides)
}

// areVersions is for overrides, which are nested.
func areVersions(overrides any) bool {
	switch o := overrides.(type) {
	case nil:
		return true
	case string:
		return strings.HasPrefix(o, "$") || isVersion(o) // another's of the same manifest
	case map[string]any:
		for _, value := range o {
			if !areVersions(value) {
				return false
			}
		}
		return true
	}
	return false
}

var (
	versions = regexp.MustCompile(`^(npm:(@[A-Za-z0-9~_.-]+/)?[A-Za-z0-9~_.-]+(@|$))?([A-Za-z][A-Za-z0-9-]*|[ \t0-9A-Za-z.*+|<>=^~-]*)$`)
	archives = regexp.MustCompile(`(?i)\.(tgz|tar|tar\.gz)$`)
)

// isVersion reports whether npm takes a text for versions of what was published, or
// for an address: neither for a file nor for a repository.
func isVersion(wanted string) bool {
	return strings.HasPrefix(wanted, "https://") || strings.HasPrefix(wanted, "http://") ||
		versions.MatchString(wanted) && !strings.HasPrefix(wanted, ".") && !strings.HasPrefix(wanted, "~/") && !archives.MatchString(wanted)
}

// fromIndex reports whether all packages of npm's lock file lie in node_modules and
// were published, and the names of those with scripts for their installation.
func fromIndex(files fs.FS, lock string) (indexed bool, scripted []string) {
	var l struct {
		Packages map[string]struct {
			manifest
			Link, HasInstallScript bool
			Resolved               string
		}
	}
	if !readJSON(files, lock, &l) || len(l.Packages) == 0 {
		return false, nil
	}
	for at, p := range l.Packages {
		if !p.published() {
			return false, nil
		}
		if at == "" {
			continue
		}
		if !strings.HasPrefix(at, "node_modules/") || p.Link || p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://") && !strings.HasPrefix(p.Resolved, "http://") {
			return false, nil
		}
		if name := at[strings.LastIndex(at, "node_modules/")+len("node_modules/"):]; p.HasInstallScript {
			if !packageName.MatchString(name) {
				return false, nil
			}
			scripted = append(scripted, name)
		}
	}
	slices.Sort(scripted)
	return true, slices.Compact(scripted)
}

// packageName is a package's name as a shell is told it: not one that npm takes for
// an option or a path.
var packageName = regexp.MustCompile(`^(@[A-Za-z0-9~_][A-Za-z0-9~._-]*/)?[A-Za-z0-9~_][A-Za-z0-9~._-]*$`)

// installEvents are the scripts of the checkout's package.json that "npm ci" runs
// after everything is installed, in its order.
var installEvents = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}

// rootScripts returns those that there are. A manifest that cannot be read, or wants
// what was not published, is not sound.
func rootScripts(files fs.FS) (present []string, sound bool) {
	var p manifest
	if !readJSON(files, "package.json", &p) || !p.published() {
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
