package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/cli"
)

const (
	version = "0.1.0"
	// most is how large a program may be, in MB. docs/releasing.md says what it is made of.
	most = 70
)

// here is the system of this machine.
const here = runtime.GOOS + "/" + runtime.GOARCH

// made makes a release for some systems from a copy of the commit that is checked out,
// in a directory of its own.
func made(t *testing.T, targets ...string) (dir, commit string) {
	t.Helper()
	ctx := t.Context()
	checkout, err := output(ctx, ".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Fatal(err)
	}
	root, dir := filepath.Join(t.TempDir(), "source"), t.TempDir()
	if _, err := output(ctx, checkout, nil, "git", "clone", "--quiet", "--no-hardlinks", checkout, root); err != nil {
		t.Fatal(err)
	}
	if commit, err = output(ctx, checkout, nil, "git", "rev-parse", "HEAD"); err != nil {
		t.Fatal(err)
	}
	if _, err := output(ctx, root, nil, "git", "checkout", "--quiet", "--detach", commit); err != nil {
		t.Fatal(err)
	}
	if err := makeAll(ctx, root, dir, version, targets); err != nil {
		t.Fatal(err)
	}
	return dir, commit
}

// first is the release that the tests of this package look at; it is made once.
var first struct {
	sync.Once
	dir, commit string
}

// released is a release for this machine.
func released(t *testing.T) (dir, commit string) {
	t.Helper()
	first.Do(func() {
		dir, commit := made(t, here)
		first.dir, first.commit = filepath.Join(kept, "release"), commit
		if err := os.CopyFS(first.dir, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	})
	if first.dir == "" {
		t.Fatal("no release was made; the first test that asked for one says why")
	}
	return first.dir, first.commit
}

// kept is a directory that lasts as long as the tests.
var kept string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "loom-release-test-")
	if err != nil {
		panic(err)
	}
	kept = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestARelease makes the release for this machine twice, in two places: it has what
// it should have, it runs, and it is the same bytes.
func TestARelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Fatal("a release is checked on Linux")
	}
	dir, commit := released(t)
	name := fmt.Sprintf("loom-%s-linux-%s", version, runtime.GOARCH)
	pkg := fmt.Sprintf("loom_%s_%s.deb", version, runtime.GOARCH)
	sums := read(t, dir, "SHA256SUMS")
	for _, line := range strings.Split(strings.TrimSuffix(string(sums), "\n"), "\n") {
		sum, file, _ := strings.Cut(line, "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, dir, file))); got != sum {
			t.Errorf("%s has the checksum %s, and SHA256SUMS says %s", file, got, sum)
		}
	}
	if list := listed(t, dir); !slices.Equal(list, []string{"SHA256SUMS", name + ".cdx.json", name + ".tar.gz", pkg}) {
		t.Fatalf("the release has %q", list)
	}
	files := untar(t, read(t, dir, name+".tar.gz"))
	wanted := []string{"LICENSE", "README.md", "completions/_loom", "completions/loom.bash", "completions/loom.fish", "loom"}
	for _, cmd := range commands(cli.Tree()) {
		wanted = append(wanted, "man/"+strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1.gz")
	}
	for _, w := range wanted {
		if len(files[name+"/"+w]) == 0 {
			t.Errorf("the archive has no %s", w)
		}
	}
	if len(files) != len(wanted) {
		t.Errorf("the archive has %d files, want %d", len(files), len(wanted))
	}
	if page := string(unzip(t, files[name+"/man/loom-submit.1.gz"])); !strings.Contains(page, `.TH "LOOM-SUBMIT" "1"`) || !strings.Contains(page, "--project") {
		t.Errorf("the manual page of loom submit is\n%.400s", page)
	}
	program := files[name+"/loom"]
	runs(t, program, commit)
	if mega(program) > most {
		t.Errorf("the program has %.1f MB, more than %d", mega(program), most)
	}
	billed(t, read(t, dir, name+".cdx.json"), program)
	packed(t, filepath.Join(dir, pkg), runtime.GOARCH, program)
	again, _ := made(t, here)
	if other := read(t, again, "SHA256SUMS"); !bytes.Equal(sums, other) {
		t.Errorf("made twice, it is not the same:\n%s\nand\n%s", sums, other)
	}
}

// TestAReleaseOfEverySystem makes the release for the systems that this machine is not:
// each program is of its system and of this commit, is no larger than it may be, and
// its archive, bill and package hold it.
func TestAReleaseOfEverySystem(t *testing.T) {
	others := slices.DeleteFunc(slices.Clone(systems), func(s string) bool { return s == here })
	dir, commit := made(t, others...)
	for _, target := range others {
		system, arch, _ := strings.Cut(target, "/")
		name := fmt.Sprintf("loom-%s-%s-%s", version, system, arch)
		program := untar(t, read(t, dir, name+".tar.gz"))[name+"/loom"]
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			t.Fatalf("%s: the archive has no program: %v", name, err)
		}
		built := map[string]string{}
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
		for key, want := range map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "vcs.revision": commit, "vcs.modified": "false"} {
			if built[key] != want {
				t.Errorf("%s: its %s is %q, want %q", name, key, built[key], want)
			}
		}
		if mega(program) > most {
			t.Errorf("%s: the program has %.1f MB, more than %d", name, mega(program), most)
		}
		billed(t, read(t, dir, name+".cdx.json"), program)
		if system == "linux" {
			packed(t, filepath.Join(dir, fmt.Sprintf("loom_%s_%s.deb", version, arch)), arch, program)
		}
	}
}

// runs runs the program that was made: it is the version and the commit that it
// should be.
func runs(t *testing.T, program []byte, commit string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loom")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "version", "--json").Output()
	var said struct {
		Version, Commit string
		Modified        bool
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("loom version says %s: %v", out, err)
	}
	if err != nil || said.Version != version || said.Commit != commit || said.Modified {
		t.Errorf("loom version says %.300s (%v), want %s of %s", out, err, version, commit)
	}
}

// billed compares the bill of materials with the modules that the program names.
func billed(t *testing.T, bill, program []byte) {
	t.Helper()
	var b struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(bill, &b); err != nil || b.BOMFormat != "CycloneDX" {
		t.Fatalf("a bill of %q: %v", b.BOMFormat, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = &debug.Module{Path: "github.com/loomrun/loom/tools/release/deepcopy", Version: info.Main.Version}
		}
		if !slices.ContainsFunc(b.Components, func(c struct{ Name, Version string }) bool { return c.Name == m.Path && c.Version == m.Version }) {
			t.Errorf("the bill has no %s %s", m.Path, m.Version)
		}
	}
}

// packed reads the Debian package as dpkg does, and where there is dpkg has it say
// what it reads.
func packed(t *testing.T, path, arch string, program []byte) {
	t.Helper()
	parts := unpack(t, read(t, filepath.Dir(path), filepath.Base(path)))
	control := string(untar(t, parts["control.tar.gz"])["./control"])
	for _, line := range []string{"Package: loom", "Version: " + version, "Architecture: " + arch} {
		if !strings.Contains(control, line+"\n") {
			t.Errorf("the package's control has no %q:\n%s", line, control)
		}
	}
	data := untar(t, parts["data.tar.gz"])
	if !bytes.Equal(data["./usr/bin/loom"], program) || len(data["./usr/share/man/man1/loom.1.gz"]) == 0 || len(data["./usr/share/bash-completion/completions/loom"]) == 0 {
		t.Errorf("the package lacks the program, a manual page or a completion")
	}
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Log("NOT RUN: there is no dpkg-deb")
		return
	}
	out, err := exec.CommandContext(t.Context(), dpkg, "--show", "--showformat=${Package} ${Version} ${Architecture}", path).CombinedOutput()
	if want := "loom " + version + " " + arch; err != nil || string(out) != want {
		t.Errorf("dpkg-deb reads %q (%v), want %q", out, err, want)
	}
}

// TestTheModuleAloneBuilds builds the program from what "go install" would have: the
// files of the module at a commit, without the modules that lie below it, and with
// nothing replaced.
func TestTheModuleAloneBuilds(t *testing.T) {
	ctx := t.Context()
	checkout, err := output(ctx, ".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Fatal(err)
	}
	below, err := output(ctx, checkout, nil, "git", "ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"archive", "--format=tar.gz", "HEAD", "--", "."}
	for _, name := range strings.Split(below, "\n") {
		if dir, isModule := strings.CutSuffix(name, "/go.mod"); isModule {
			args = append(args, ":(exclude)"+dir)
		}
	}
	archive := exec.CommandContext(ctx, "git", args...)
	archive.Dir = checkout
	packed, err := archive.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range untar(t, packed) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if mod := string(read(t, dir, "go.mod")); strings.Contains(mod, "replace ") || strings.Contains(mod, "replace (") {
		t.Error("go.mod replaces a module, which go install refuses")
	}
	env := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off"}
	if _, err := output(ctx, dir, env, "go", "build", "-trimpath", "-o", filepath.Join(dir, "loom"), "./cmd/loom"); err != nil {
		t.Fatal(err)
	}
	if said, err := output(ctx, dir, nil, filepath.Join(dir, "loom"), "help", "--all"); err != nil || !strings.Contains(said, "\nsubmit ") {
		t.Errorf("the program says %.200q (%v)", said, err)
	}
}

// TestOnlyWhatThereIs refuses a system that no release is for, and a directory in
// which something lies.
func TestOnlyWhatThereIs(t *testing.T) {
	if err := run(context.Background(), []string{"--out", t.TempDir(), "--only", "plan9/amd64"}); err == nil || !strings.Contains(err.Error(), `no release is made for "plan9/amd64"`) {
		t.Errorf("plan9: %v", err)
	}
	if err := run(context.Background(), []string{"--out", "."}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a full directory: %v", err)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(unzip(t, data))); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// unpack reads an ar archive.
func unpack(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	parts := map[string][]byte{}
	rest, ok := bytes.CutPrefix(data, []byte("!<arch>\n"))
	if !ok {
		t.Fatal("no ar archive")
	}
	for len(rest) > 60 {
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil {
			t.Fatal(err)
		}
		parts[strings.TrimSpace(string(rest[:16]))] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	return parts
}
