//go:build amd64 || arm64

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
)

// Every probe is refused in the real sandbox. Where there is none, that is said
// loudly, and nothing can be tried.
func TestSEC02_EscapeProbes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	inherited, err := unix.Dup(int(secret(t).Fd())) // as a shell or a supervisor may leave one open
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	results, err := Run(ctx)
	if missing := sandbox.Check().Missing; len(missing) > 0 {
		t.Logf("NO SANDBOX ON THIS MACHINE, so no probe was tried: %s", strings.Join(missing, "; "))
		if fault.Code(err) != "sandbox/unavailable" {
			t.Errorf("without a sandbox: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(All())+1 || len(results) < 41 {
		t.Errorf("%d results of %d probes", len(results), len(All()))
	}
	for _, r := range results {
		if !r.Refused {
			t.Errorf("%s, %s: %s", r.Promise, r.Name, r.Why)
		}
		t.Logf("%s %s: %s", r.Promise, r.Name, r.Why)
	}
}

func secret(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A probe that is refused everywhere would prove nothing: without a sandbox,
// those that any user can do succeed.
func TestSEC02_ProbesBite(t *testing.T) {
	controls := 0
	for i, p := range All() {
		if !p.Control {
			continue
		}
		controls++
		trap, err := lay()
		if err != nil {
			t.Fatal(err)
		}
		if p.Name == "shared-memory-file" && trap.Shared == "" || p.Name == "shared-memory-segment" && trap.Segment < 0 {
			t.Logf("NO SHARED MEMORY ON THIS MACHINE, so %s was not tried", p.Name)
			trap.clear()
			continue
		}
		why, err := outside(t, errand{Bait: trap.bait, From: i, Only: true})
		if err != nil || why != "" {
			t.Errorf("%s is refused without a sandbox: %s %v", p.Name, why, err)
		}
		trap.clear()
	}
	if controls < 25 {
		t.Errorf("%d probes are shown to bite", controls)
	}
}

// outside has one probe tried without a sandbox.
func outside(t *testing.T, e errand) (string, error) {
	t.Helper()
	told, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), exe, argument, string(told))
	cmd.Dir = e.Bait.Workspace
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // else each would stay for a second
	out, err := cmd.Output()
	said := answers(out)
	if err == nil && len(said) != 1 {
		err = errors.New("no answer")
	}
	if err != nil {
		return "", err
	}
	return said[0].Why, nil
}

func TestSEC02_ProbesHaveNames(t *testing.T) {
	var seen []string
	for _, p := range All() {
		if slices.Contains(seen, p.Name) || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || !slices.Contains([]string{"P11", "P12", "P13"}, p.Promise) {
			t.Errorf("probe %q of promise %q", p.Name, p.Promise)
		}
		seen = append(seen, p.Name)
	}
}

// What touches the bait is seen, whatever a probe says of itself.
func TestSEC02_BaitThatIsTouchedIsSeen(t *testing.T) {
	for name, touch := range map[string]func(b *bait) error{
		"nothing": func(*bait) error { return nil },
		"content": func(b *bait) error { return os.WriteFile(b.File, []byte("x"), 0o600) },
		"mode":    func(b *bait) error { return os.Chmod(b.File, 0o644) },
		"removed": func(b *bait) error { return os.Remove(b.File) },
		"added":   func(b *bait) error { return os.WriteFile(b.Dir+"/x", nil, 0o600) },
		"link":    func(b *bait) error { return os.Link(b.File, b.Workspace+"/x") },
		"visit":   func(b *bait) error { return reach("tcp", b.TCP) },
	} {
		trap, err := lay()
		if err != nil {
			t.Fatal(err)
		}
		if err := touch(&trap.bait); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := trap.look(); r.Refused != (name == "nothing") {
			t.Errorf("%s: %+v", name, r)
		}
		trap.clear()
	}
}
