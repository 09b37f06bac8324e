package kernel

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var image = flag.String("kernel.image", "", "kernel to run tests in, under qemu-system-x86_64")

func TestTOOL03_ControlGroupsOfARealKernel(t *testing.T) {
	if *image == "" {
		t.Log("NOT RUN: -args -kernel.image FILE names a kernel")
		return
	}
	root := filepath.Join(t.TempDir(), "root")
	furnish(t, root)
	build(t, root, "./internal/place/sandbox", "./internal/place/sandbox/cgroup")
	said := boot(t, pack(t, root))
	t.Log(said)
	ended := regexp.MustCompile(`KERNEL (\S+) ended (\d+)`).FindAllStringSubmatch(said, -1)
	if len(ended) != 4 || !strings.Contains(said, "KERNEL done") {
		t.Errorf("%d of 4 runs have ended", len(ended))
	}
	for _, m := range ended {
		if m[2] != "0" {
			t.Errorf("%s ended with %s", m[1], m[2])
		}
	}
	if strings.Contains(said, "WITHOUT CONTROL GROUPS") || strings.Contains(said, "NOT RUN") {
		t.Error("there were no control groups, or something was not run")
	}
}

// furnish makes a root with busybox, perl and what starts the tests.
func furnish(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"proc", "new", "etc", "usr/bin", "usr/local/bin", "usr/lib", "usr/lib64"} {
		do(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		do(t, os.Symlink("usr/"+name, filepath.Join(root, name)))
	}
	busybox := run(t, "sh", "-c", "command -v busybox")
	copied(t, busybox, filepath.Join(root, "usr/bin/busybox"))
	for _, applet := range strings.Fields(run(t, busybox, "--list")) {
		_ = os.Symlink("busybox", filepath.Join(root, "usr/bin", applet)) // but busybox
	}
	perl := run(t, "sh", "-c", "command -v perl")
	copied(t, perl, filepath.Join(root, "usr/bin/perl"))
	for _, lib := range regexp.MustCompile(`(?m)/\S+`).FindAllString(run(t, "ldd", perl), -1) {
		copied(t, lib, filepath.Join(root, lib))
	}
	copied(t, "testdata/first.sh", filepath.Join(root, "init"))
	copied(t, "testdata/second.sh", filepath.Join(root, "second.sh"))
}

// build makes programs of the tests of packages.
func build(t *testing.T, root string, packages ...string) {
	t.Helper()
	for _, p := range packages {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", filepath.Join(root, "usr/local/bin", filepath.Base(p)+".test"), p)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// pack returns the root as a file that a kernel starts with.
func pack(t *testing.T, root string) string {
	t.Helper()
	file := root + ".cpio"
	run(t, "sh", "-c", `cd "$1" && find . | cpio -o -H newc > "$2"`, "sh", root, file)
	return file
}

func boot(t *testing.T, initrd string) string {
	t.Helper()
	return run(t, "qemu-system-x86_64", "-m", "2500", "-nographic", "-no-reboot", "-kernel", *image, "-initrd", initrd,
		"-append", "console=ttyS0 quiet panic=-1")
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	do(t, err)
	do(t, os.MkdirAll(filepath.Dir(to), 0o755))
	do(t, os.WriteFile(to, data, 0o755))
}

// run returns what a command prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
