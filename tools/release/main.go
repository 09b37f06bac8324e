// Command release makes what a release of Loom consists of: for each system an
// archive with the program, its manual pages and completions, for Linux a Debian
// package, and for all of them a bill of materials and a file of checksums.
//
//	go -C tools/release run . --out DIR [--version 0.1.0] [--only linux/amd64]
//
// The same commit gives the same bytes wherever it is built with the same Go: paths
// are trimmed, and times in archives are the commit's.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/cli/hosting"
)

// systems are those that a release is for. Windows has none: agents' commands need
// the sandbox of Linux, which WSL has.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// release is one release that is being made.
type release struct {
	root, out, version string
	moment             time.Time
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "", "directory of what is made; it must be empty or absent")
	version := flags.String("version", "0.1.0", "version of the release")
	only := flags.String("only", "", "systems to build for, such as linux/amd64,darwin/arm64; all where it is left out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	targets, err := chosen(*only)
	if err != nil {
		return err
	}
	root, err := output(ctx, ".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	return makeAll(ctx, root, *out, *version, targets)
}

// makeAll makes the release of a checkout for some systems.
func makeAll(ctx context.Context, root, out, version string, targets []string) error {
	r, err := begin(ctx, root, out, version)
	if err != nil {
		return err
	}
	pages, err := pages(r.version, r.moment)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if err := r.build(ctx, target, pages); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return r.checksums()
}

func chosen(only string) ([]string, error) {
	if only == "" {
		return systems, nil
	}
	list := strings.Split(only, ",")
	for _, target := range list {
		if !slices.Contains(systems, target) {
			return nil, fmt.Errorf("no release is made for %q; there are %s", target, strings.Join(systems, ", "))
		}
	}
	return list, nil
}

// begin finds the commit that is checked out, and makes the directory.
func begin(ctx context.Context, root, out, version string) (*release, error) {
	if out == "" {
		return nil, errors.New("--out names no directory")
	}
	seconds, err := output(ctx, root, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
		return nil, cmp.Or(err, fmt.Errorf("%s is not empty", out))
	}
	return &release{root: root, out: out, version: version, moment: time.Unix(unix, 0).UTC()}, nil
}

// build makes everything for one system.
func (r *release) build(ctx context.Context, target string, pages []file) error {
	system, arch, _ := strings.Cut(target, "/")
	name := fmt.Sprintf("loom-%s-%s-%s", r.version, system, arch)
	began := time.Now()
	program, err := r.compile(ctx, system, arch)
	if err != nil {
		return err
	}
	parts, err := r.documents()
	if err != nil {
		return err
	}
	parts = append(parts, file{"loom", 0o755, program})
	parts = append(parts, pages...)
	archive, err := tarball(name+"/", parts, r.moment)
	if err != nil {
		return err
	}
	if err := r.write(name+".tar.gz", archive); err != nil {
		return err
	}
	bill, err := r.bill(program)
	if err != nil {
		return err
	}
	if err := r.write(name+".cdx.json", bill); err != nil {
		return err
	}
	if system == "linux" {
		pkg, err := debian(r.version, arch, program, pages, r.moment)
		if err != nil {
			return err
		}
		if err := r.write(fmt.Sprintf("loom_%s_%s.deb", r.version, arch), pkg); err != nil {
			return err
		}
	}
	fmt.Printf("%s: the program has %.1f MB, the archive %.1f; %s\n", name, mega(program), mega(archive), time.Since(began).Round(time.Second))
	return nil
}

// bill lists what a program was built of, as the program itself says.
func (r *release) bill(program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	var bill bytes.Buffer
	err = hosting.WriteBill(&bill, info, r.version)
	return bill.Bytes(), err
}

func mega(b []byte) float64 { return float64(len(b)) / 1e6 }

// compile builds the program: static, without paths of this machine, without
// symbols that only a debugger reads.
func (r *release) compile(ctx context.Context, system, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "loom-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "loom")
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOFLAGS=-mod=readonly", "GOWORK=off"}
	mod, err := r.modfile(dir)
	if err != nil {
		return nil, err
	}
	ldflags := "-s -w -buildid= -X github.com/loomrun/loom/internal/host.Version=" + r.version
	if _, err := output(ctx, r.root, env, "go", "build", "-modfile", mod, "-trimpath", "-buildvcs=true", "-ldflags", ldflags, "-o", path, "./cmd/loom"); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// modfile writes into dir the module's requirements with one replacement: the copy of
// deepcopy that calls no method by name. One such call anywhere makes the linker keep
// every exported method, a seventh of the program. The module itself cannot say so,
// because go install takes no module with replacements.
func (r *release) modfile(dir string) (string, error) {
	for name, more := range map[string]string{
		"go.mod": "\nreplace github.com/tiendc/go-deepcopy => ./tools/release/deepcopy\n",
		"go.sum": "",
	} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(text, more...), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "go.mod"), nil
}

// documents are the files of the repository that go with the program.
func (r *release) documents() (list []file, err error) {
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name, 0o644, data})
	}
	return list, nil
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// checksums writes SHA256SUMS, which "sha256sum -c" reads.
func (r *release) checksums() error {
	list, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write("SHA256SUMS", sums.Bytes())
}

// output runs a command and returns what it prints, without the end of the line.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, &said)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
