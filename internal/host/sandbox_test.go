package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/datadir"
	"github.com/loomrun/loom/internal/fault"
)

// box is a host as far as its sandbox goes, and a directory to work in.
func box(t *testing.T) (*Host, string) {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return &Host{dir: dir}, t.TempDir()
}

// sandboxed reports whether this machine has a sandbox. Where it has none, that
// is said loudly, and nothing may run.
func sandboxed(t *testing.T, h *Host, dir string) bool {
	t.Helper()
	if h.Sandboxed() {
		return true
	}
	t.Log("NO SANDBOX ON THIS MACHINE, so only its refusal is tested")
	if _, err := h.contain(t.Context(), dir, []string{dir}, nil, []string{"true"}); fault.Code(err) != "sandbox/unavailable" {
		t.Errorf("without a sandbox: %v", err)
	}
	if p := h.exec(); p.Allow || p.Contain != nil {
		t.Error("commands may run without a sandbox")
	}
	return false
}

// sh runs a script as a tool would and reports whether it succeeded.
func sh(t *testing.T, h *Host, dir, cache, script string) (string, bool) {
	t.Helper()
	write := []string{dir}
	if cache != "" {
		cache = h.dir.Path("caches", "shop", cache)
		if err := os.MkdirAll(cache, 0o700); err != nil {
			t.Fatal(err)
		}
		write = append(write, cache)
	}
	cmd, err := h.contain(t.Context(), dir, write, toolEnv(), []string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// An agent's commands see neither the data directory nor the CEO's key, but
// where they work and what the operator named.
func TestTOOL03_CommandsSeeNoSecrets(t *testing.T) {
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	key := filepath.Join(home, ".config", "loom", "ceo.nk")
	toolchain := t.TempDir()
	for _, file := range []string{key, filepath.Join(toolchain, "file"), h.dir.Path("creds", "operator.nk")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.config.SandboxRead = []string{toolchain, h.dir.Path(), filepath.Dir(h.dir.Path())}
	for script, works := range map[string]bool{
		"cat " + key: false,
		"cat " + h.dir.Path("creds", "operator.nk"):    false,
		"ls " + h.dir.Path():                           false,
		"cat " + filepath.Join(toolchain, "file"):      true,
		"echo x > " + filepath.Join(toolchain, "file"): false,
		"echo x > made && cat made":                    true,
		"env | grep canary":                            false,
	} {
		if out, ok := sh(t, h, dir, "", script); ok != works {
			t.Errorf("%s: worked %t: %s", script, ok, out)
		}
	}
}

// Go's build cache is shared for reading; what an agent's commands put into it
// is theirs alone, and is there the next time.
func TestTOOL03_CachesAreNotShared(t *testing.T) {
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	base := t.TempDir()
	t.Setenv("GOCACHE", base)
	if err := os.WriteFile(filepath.Join(base, "shared"), []byte("built before"), 0o600); err != nil {
		t.Fatal(err)
	}
	const poison = `cat "$GOCACHE"/shared && echo poison > "$GOCACHE"/shared && echo x > "$GOCACHE"/new`
	if out, ok := sh(t, h, dir, "implementer/1", poison); !ok || !strings.Contains(out, "built before") {
		t.Fatalf("%s", out)
	}
	for agent, want := range map[string]string{"implementer/1": "poison\nx\n", "qa-engineer/1": "built before"} {
		if out, _ := sh(t, h, dir, agent, `cat "$GOCACHE"/shared "$GOCACHE"/new 2>/dev/null; true`); out != want {
			t.Errorf("%s sees %q, want %q", agent, out, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(base, "shared")); err != nil || string(data) != "built before" {
		t.Errorf("the cache of this user has %q (%v)", data, err)
	}
}
