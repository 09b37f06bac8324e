package isolation

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/roles"
)

// box is a host as far as its sandbox goes, and a directory to work in.
func box(t testing.TB) (*Commands, string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(data, "creds"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "creds", "operator.nk"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Commands{Data: data}, t.TempDir()
}

// sandboxed reports whether this machine has a sandbox. Where it has none, that
// is said loudly, and nothing may run.
func sandboxed(t testing.TB, h *Commands, dir string) bool {
	t.Helper()
	if h.Sandboxed() {
		return true
	}
	t.Log("NO SANDBOX ON THIS MACHINE, so only its refusal is tested")
	if _, err := h.contain(t.Context(), "shop", roles.DefaultSandbox(), "", dir, []string{dir}, nil, []string{"true"}); fault.Code(err) != "sandbox/unavailable" {
		t.Errorf("without a sandbox: %v", err)
	}
	if p := h.Exec("shop", roles.Role{}, ""); p.Allow || p.Contain != nil {
		t.Error("commands may run without a sandbox")
	}
	return false
}

// sh runs a script as a tool would and reports whether it succeeded.
func sh(t *testing.T, h *Commands, dir string, changes cache, script string) (string, bool) {
	t.Helper()
	cmd, err := h.contain(t.Context(), "shop", roles.DefaultSandbox(), changes, dir, []string{dir}, toolEnv(), []string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// An agent's commands see neither the data directory nor the CEO's key, but
// where they work and what the operator named.
func TestTOOL03_CommandsSeeNoSecrets(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	key := filepath.Join(home, ".config", "loom", "ceo.nk")
	toolchain := t.TempDir()
	for _, file := range []string{key, filepath.Join(toolchain, "file"), filepath.Join(h.Data, "creds", "operator.nk")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Read = []string{toolchain, h.Data, filepath.Dir(h.Data)}
	for script, works := range map[string]bool{
		"cat " + key: false,
		"cat " + filepath.Join(h.Data, "creds", "operator.nk"): false,
		"ls " + h.Data: false,
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

// Go's build cache is shared for reading; what commands put into it is seen by
// those alone that have their changes.
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
	poisoned, fresh := cache(t.TempDir()), cache(t.TempDir())
	if out, ok := sh(t, h, dir, poisoned, poison); !ok || !strings.Contains(out, "built before") {
		t.Fatalf("%s", out)
	}
	for changes, want := range map[cache]string{poisoned: "poison\nx\n", fresh: "built before"} {
		if out, _ := sh(t, h, dir, changes, `cat "$GOCACHE"/shared "$GOCACHE"/new 2>/dev/null; true`); out != want {
			t.Errorf("with the changes in %s a command sees %q, want %q", changes, out, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(base, "shared")); err != nil || string(data) != "built before" {
		t.Errorf("the cache of this user has %q (%v)", data, err)
	}
}

// Each limit that a role asks for bites, in what its commands are run by.
func TestTOOL03_ARolesLimitsBite(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	for _, tt := range []struct {
		name, script string
		asks         roles.Sandbox
		works        bool
		says         string
	}{
		{"what multiplies", "f() { [ $1 = 0 ] || { f $(($1-1)) & f $(($1-1)) & }; sleep 600; }; f 10", roles.Sandbox{Processes: 16}, false, ""}, // 2,047 in all
		{"more processes than it asks for", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 600 & done; wait", roles.Sandbox{Processes: 4}, false, ""},
		{"a hog of memory", `perl -e '$x="x"x(200<<20); sleep 600'`, roles.Sandbox{MemoryMiB: 64}, false, "the most is 64"},
		{"a hog of a processor", "while :; do :; done", roles.Sandbox{CPU: time.Second}, false, ""},
		{"a large file", "head -c 3000000 /dev/zero > large", roles.Sandbox{FileMiB: 1}, false, ""},
		{"a file that is not", "head -c 1000000 /dev/zero > small", roles.Sandbox{FileMiB: 1}, true, ""},
		{"many open files", `perl -e 'for(1..100){open($f[$_],"<","/dev/null") or exit 9}'`, roles.Sandbox{OpenFiles: 32}, false, ""},
		{"a loopback", listens, roles.Sandbox{}, true, ""},
		{"no network", listens, roles.Sandbox{Network: roles.NetworkNone}, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := h.Exec("shop", roles.Role{Sandbox: tt.asks}, "")
			if want := "sandbox: " + tt.asks.Within(roles.DefaultSandbox()).String(); p.Ran != want {
				t.Errorf("it is recorded as %q, want %q", p.Ran, want)
			}
			cmd, err := p.Contain(t.Context(), dir, []string{dir}, toolEnv(), []string{"/bin/sh", "-c", tt.script})
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if (err == nil) != tt.works || !strings.Contains(string(out), tt.says) {
				t.Errorf("%v: %.300s", err, out)
			}
		})
	}
}

// listens connects to itself.
const listens = `perl -MIO::Socket::INET -e '$l=IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1",LocalPort=>4242) or die; IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>4242) or die'`

// The network of the host is a role's that asks for it where the operator gives
// it, and nobody else's.
func TestTOOL03_TheHostsNetworkIsTheOperatorsToGive(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr=>"` + l.Addr().String() + `",Timeout=>60) or die'`
	wide := roles.Sandbox{Network: roles.NetworkHost}
	for _, tt := range []struct {
		name        string
		asks, gives roles.Sandbox
		works       bool
	}{
		{"nobody wants it", roles.Sandbox{}, roles.Sandbox{}, false},
		{"a role wants it", wide, roles.Sandbox{}, false},
		{"the operator gives it to who wants it", wide, wide, true},
		{"and no other", roles.Sandbox{Network: roles.NetworkLoopback}, wide, false},
	} {
		h.Limits = tt.gives
		cmd, err := h.Exec("shop", roles.Role{Sandbox: tt.asks}, "").Contain(t.Context(), dir, []string{dir}, toolEnv(), []string{"/bin/sh", "-c", connect})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); (err == nil) != tt.works {
			t.Errorf("%s: %v: %s", tt.name, err, out)
		}
	}
}

// A role that asks for nothing has what the sandbox gives by itself.
func TestTOOL03_TheDefaultsAreTheSandboxsOwn(t *testing.T) {
	s := limited(sandbox.Spec{}, roles.Role{}.Sandbox.Within((&Commands{}).Limit()))
	if want := (sandbox.Spec{Limits: sandbox.Defaults()}); !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
}
