package datadir_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestMain lets the test binary stand in for a second process: with
// LOOM_HOLD set it opens that directory and keeps it until its input ends.
func TestMain(m *testing.M) {
	path := os.Getenv("LOOM_HOLD")
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := datadir.Open(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func open(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatalf("Open(%s): %v", path, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestOPS01_FirstStartMakesADeployment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	m := d.Manifest()
	if !strings.HasPrefix(m.Deployment, "dp-") || !strings.HasPrefix(m.Host, "h-") || len(m.Deployment) != 19 {
		t.Errorf("deployment %q, host %q: want dp- and h- with 16 characters", m.Deployment, m.Host)
	}
	want := datadir.Manifest{
		Format: 1, Deployment: m.Deployment, Host: m.Host, Mode: "single",
		Partitions: 4, Epoch: 1, Starts: 1, Truth: []string{},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, "manifest.json": 0o600, "lock": 0o600} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %04o", name, info.Mode(), err, mode)
		}
	}
}

func TestOPS01_EachStartIsCountedAndKeepsTheRest(t *testing.T) {
	path := t.TempDir()
	d, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{d.SetCEO("UABC"), d.Intend("B", "A"), d.Created("A"), d.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := d.Manifest()
	after := open(t, path).Manifest()
	before.Starts = 2
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("after a second start (-want +got):\n%s", diff)
	}
	if after.Partitions != 2 || after.CEO != "UABC" || !cmp.Equal(after.Truth, []string{"A"}) || !cmp.Equal(after.Intended, []string{"B"}) {
		t.Errorf("manifest is %+v", after)
	}
}

func TestOPS01_ASecondProcessIsRefusedByPid(t *testing.T) {
	path := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_HOLD="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q", line)
	}
	_, err = datadir.Open(path)
	if fault.Code(err) != "data/locked" || !strings.Contains(err.Error(), "process "+strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("second open: %v; want data/locked and process %d", err, cmd.Process.Pid)
	}
	if fault.Status(err) != fault.Conflict {
		t.Errorf("exit status %d, want %d", fault.Status(err), fault.Conflict)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	open(t, path) // its holder's death freed it
}

func TestOPS01_RacingStartsHaveOneWinner(t *testing.T) {
	path := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() { _, errs[i] = datadir.Open(path) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if fault.Code(err) != "data/locked" {
			t.Errorf("a loser got %v, want data/locked", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d starts won, want 1", won, len(errs))
	}
}

func TestOPS01_UnsoundDirectoriesAreRefused(t *testing.T) {
	sound := `{"format":1,"deployment":"dp-a","host":"h-a","mode":"single","partitions":4,"epoch":1,"starts":1,"truth":[]}`
	for _, tt := range []struct {
		name, file, text, code, says string
	}{
		{"sound", "manifest.json", sound, "", ""},
		{"garbage", "manifest.json", "\x00\x01{", "data/manifest", "invalid character"},
		{"empty", "manifest.json", "", "data/manifest", "unexpected end"},
		{"unknown field", "manifest.json", strings.Replace(sound, `"mode"`, `"moon":1,"mode"`, 1), "data/manifest", "moon"},
		{"newer format", "manifest.json", `{"format":2,"moon":1}`, "data/manifest", "format 2"},
		{"no format", "manifest.json", `{}`, "data/manifest", "names no format"},
		{"two values", "manifest.json", sound + "{}", "data/manifest", "after top-level value"},
		{"cluster mode", "manifest.json", strings.Replace(sound, "single", "cluster", 1), "data/manifest", `"cluster"`},
		{"no partitions", "manifest.json", strings.Replace(sound, `"partitions":4`, `"partitions":0`, 1), "data/manifest", "0 partitions"},
		{"data without manifest", "jetstream", "x", "data/manifest", `"jetstream"`},
		{"interrupted first start", "manifest.json.tmp", "{", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := t.TempDir()
			if err := os.WriteFile(filepath.Join(path, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := datadir.Open(path)
			if fault.Code(err) != tt.code || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Open: %v; want code %q and %q", err, tt.code, tt.says)
			}
			if err == nil {
				_ = d.Close()
				return
			}
			if _, err = datadir.Open(path); fault.Code(err) != tt.code {
				t.Errorf("second Open: %v; a refusal must free the lock", err)
			}
		})
	}
}

func TestOPS01_ADirectoryThatOthersWriteIsRefused(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Open(path); fault.Code(err) != "data/permissions" {
		t.Errorf("Open: %v, want data/permissions", err)
	}
}

func TestOPS01_BadPartitions(t *testing.T) {
	for _, n := range []int{-1, 65} {
		if _, err := (datadir.Config{Path: t.TempDir(), Partitions: n}).Open(); fault.Code(err) != "usage/argument" {
			t.Errorf("%d partitions: %v, want usage/argument", n, err)
		}
	}
}

func TestSEC01_FilesAreTheOwnersAlone(t *testing.T) {
	d := open(t, t.TempDir())
	if err := d.WriteFile([]byte("secret"), "creds", "operator"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(d.Path("creds", "operator"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials have mode %v, %v; want 0600", info.Mode(), err)
	}
	if _, err := os.Stat(d.Path("creds", "operator.tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}
