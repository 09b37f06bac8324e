package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox/probe"
	"github.com/loomrun/loom/internal/store/datadir"
)

// examine runs one check.
func examine(t *testing.T, name string, m Machine) []Finding {
	t.Helper()
	i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
	n := &notes{check: name}
	checks[i].look(t.Context(), &m, n)
	return n.found
}

// wants reports when no finding has that status and says that.
func wants(t *testing.T, found []Finding, s Status, text string) {
	t.Helper()
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Status == s && strings.Contains(f.Text, text) }) {
		t.Errorf("%+v; want %s with %q", found, s, text)
	}
}

// Whatever the machine is like, each check says something, and whatever is not
// good comes with something to do.
func TestOPS02_EveryFindingSaysWhatToDo(t *testing.T) {
	longtest.Skip(t)
	m := Machine{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
	var seen int
	all := m.Examine(t.Context(), func(Finding) { seen++ })
	if seen != len(all) {
		t.Errorf("%d findings were told of %d", seen, len(all))
	}
	for _, f := range all {
		if f.Text == "" || (f.Do == "") != (f.Status == Good) {
			t.Errorf("%+v", f)
		}
	}
	for _, name := range Names() {
		if name != "models" && !slices.ContainsFunc(all, func(f Finding) bool { return f.Check == name }) {
			t.Errorf("check %q says nothing", name)
		}
	}
	if _, err := os.Stat(m.Data); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}

func TestOPS02_ItStopsWhenToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all := (Machine{}).Examine(ctx, func(Finding) {}); len(all) != 0 {
		t.Errorf("%d findings after the end", len(all))
	}
}

func TestOPS02_TheConfigurationIsJudged(t *testing.T) {
	bad := fault.Join([]*fault.Error{
		fault.New("config/type", "not a number").At("loom.toml:1:2"), fault.New("config/unknown-key", "nothing reads this key").At("loom.toml:3:1").Want("did you mean x?"),
	})
	found := examine(t, "configuration", Machine{Configuration: bad})
	wants(t, found, Failed, "loom.toml:1:2: not a number")
	wants(t, found, Failed, "loom.toml:3:1: nothing reads this key")
	if len(found) != 2 || found[1].Do != "did you mean x?" {
		t.Errorf("%+v", found)
	}
	wants(t, examine(t, "configuration", Machine{Ignored: []string{"LOOM_X"}}), Warned, "LOOM_X")
}

func TestOPS02_TheDataDirectoryIsJudged(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		make func(path string) error
		want Status
		text string
	}{
		{"absent", func(string) error { return nil }, Good, "made at the first start"},
		{"sound", func(p string) error { return os.Mkdir(p, 0o700) }, Good, "mode 0700"},
		{"readable", func(p string) error { return os.Mkdir(p, 0o755) }, Warned, "look into"},
		{"writable", func(p string) error { return errors.Join(os.Mkdir(p, 0o777), os.Chmod(p, 0o777)) }, Failed, "write into"},
		{"file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, Failed, "no directory"},
		{"open", func(p string) error {
			d, err := datadir.Open(p)
			if err == nil {
				t.Cleanup(func() { _ = d.Close() })
			}
			return err
		}, Good, "a host runs on it"},
	} {
		path := filepath.Join(dir, tt.name)
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		wants(t, examine(t, "data", Machine{Data: path}), tt.want, tt.text)
	}
}

func TestOPS02_TheDiskIsJudged(t *testing.T) {
	found := examine(t, "disk", Machine{Data: filepath.Join(t.TempDir(), "a", "b")})
	if !slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.Text, "fsync of 4 KiB takes") }) {
		t.Errorf("%+v: fsync is not measured", found)
	}
	for kind, want := range map[string]Status{"ext4": Good, "nfs": Failed, "cifs": Failed, "tmpfs": Warned, "overlay": Warned, "fuse": Warned, "of type 0x1": Good} {
		n := &notes{}
		judgeKind(n, kind)
		if n.found[0].Status != want {
			t.Errorf("%s: %+v, want %s", kind, n.found, want)
		}
	}
	dir := t.TempDir()
	times, err := measureSync(dir)
	if err != nil || len(times) != syncs || times[0] <= 0 || !slices.IsSorted(times) {
		t.Errorf("%v, %v", times, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	n := &notes{}
	judgeSync(n, filepath.Join(dir, "absent"))
	wants(t, n.found, Failed, "no file can be written")
}

func TestOPS02_PortsAreJudged(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	m := Machine{Data: filepath.Join(t.TempDir(), "data"), Listen: taken, HTTP: taken, HTTPIfFree: true}
	found := examine(t, "ports", m)
	wants(t, found, Failed, taken)
	wants(t, found, Warned, taken)
	m.Listen, m.HTTP = "", "127.0.0.1:0"
	found = examine(t, "ports", m)
	wants(t, found, Good, "no port is opened")
	wants(t, found, Good, "is free")
	d, err := datadir.Open(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m.Listen = taken
	wants(t, examine(t, "ports", m), Good, "a host runs")
}

func TestSEC01_WhatIsOpenToTheNetworkIsJudged(t *testing.T) {
	for _, tt := range []struct {
		m    Machine
		want Status
		text string
	}{
		{Machine{Listen: "127.0.0.1:1", HTTP: "[::1]:2"}, Good, "only this machine"},
		{Machine{Listen: "localhost:1"}, Good, "only this machine"},
		{Machine{}, Good, "only this machine"},
		{Machine{Listen: "0.0.0.0:1", Certificate: true}, Good, "0.0.0.0:1: open to the network, with TLS"},
		{Machine{Listen: ":1", HTTP: "host.example:2"}, Failed, ":1 and host.example:2"},
		{Machine{HTTP: "10.0.0.1:2", Insecure: true}, Warned, "without TLS"},
	} {
		wants(t, examine(t, "network", tt.m), tt.want, tt.text)
	}
}

func TestOPS02_ModelsAreJudgedWithoutAsking(t *testing.T) {
	m := Machine{Models: []Model{{"a:b", "--model"}, {"bad", "--tier 1"}}, Open: func(spec string) ([]string, error) {
		if spec == "bad" {
			return nil, fault.New("model/no-key", "bad needs a key and X is not set")
		}
		return []string{"a:b is asked at https://example.org"}, nil
	}}
	found := examine(t, "models", m)
	wants(t, found, Good, "a:b (--model): what it needs is there")
	wants(t, found, Good, "a:b is asked at https://example.org")
	wants(t, found, Failed, "bad needs a key")
	m.Ask = func(context.Context, string) error { return fault.New("model/unavailable", "nobody answers") }
	wants(t, examine(t, "models", m), Failed, "nobody answers")
	seen := map[string]bool{}
	for _, code := range []string{"model/key-refused", "model/unknown", "model/no-credit"} {
		m.Ask = func(context.Context, string) error { return fault.New(code, "what the provider says") }
		found := examine(t, "models", m)
		i := slices.IndexFunc(found, func(f Finding) bool { return strings.Contains(f.Text, "what the provider says") })
		if i < 0 || found[i].Status != Failed || found[i].Do != model.Remedy(fault.New(code, "x")) || found[i].Do == "" || seen[found[i].Do] {
			t.Errorf("%s: %+v; want a failure with a remedy of its own", code, found)
			continue
		}
		seen[found[i].Do] = true
	}
	m.Ask = func(context.Context, string) error { return nil }
	wants(t, examine(t, "models", m), Good, "a:b (--model) answers")
	m.Models = nil
	wants(t, examine(t, "models", m), Warned, "no model is named, so work waits")
}

func TestSEC02_FilesOfSecretsAreJudged(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"own": 0o600, "open": 0o644} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte("sk-canary"), 0o600), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	found := examine(t, "secrets", Machine{Secrets: []Secret{
		{Name: "A", From: "A"},
		{Name: "B", From: "loom.toml:1:1", File: filepath.Join(dir, "own")},
		{Name: "C", From: "C_FILE", File: filepath.Join(dir, "open")},
		{Name: "D", From: "D_FILE", Problem: fault.New("config/file", "the file cannot be read").At("d")},
	}})
	wants(t, found, Good, "A is set, from A")
	wants(t, found, Good, "B is set, from loom.toml:1:1")
	wants(t, found, Warned, "the file of C (mode 0644)")
	wants(t, found, Failed, "d: the file cannot be read")
	for _, f := range found {
		if strings.Contains(f.Text+f.Do, "canary") {
			t.Errorf("a secret is shown: %+v", f)
		}
	}
}

func TestOPS02_ProjectsAreJudged(t *testing.T) {
	wants(t, examine(t, "projects", Machine{Projects: []Project{{ID: "shop", Path: t.TempDir()}}}), Failed, "")
	wants(t, examine(t, "projects", Machine{}), Good, "none")
}

func TestREAL02_SetupsAreJudged(t *testing.T) {
	setup := func(_ context.Context, project string) ([]SetupStep, error) {
		switch project {
		case "shop":
			return []SetupStep{{"npm ci", "package-lock.json", []string{"node_modules"}, nil}, {"cargo fetch", "Cargo.lock", nil, []Lack{{"cargo is not on the PATH", "install it"}}}}, nil
		case "desk":
			return nil, errors.New("no such branch")
		}
		return nil, nil
	}
	found := examine(t, "setup", Machine{Setup: setup, Projects: []Project{{ID: "shop"}, {ID: "desk"}, {ID: "plain"}}})
	wants(t, found, Good, "shop: npm ci, for package-lock.json, keeps node_modules")
	wants(t, found, Warned, "shop: cargo fetch, for Cargo.lock: cargo is not on the PATH")
	wants(t, found, Warned, "no such branch")
	wants(t, found, Good, "plain: none is named, and no lock file asks for one")
	wants(t, examine(t, "setup", Machine{}), Good, "no project")
}

func TestREAL01_WhatDoesNotWorkInAWorkspaceIsTold(t *testing.T) {
	n := &notes{check: "workspace"}
	judgeTrials(n, []Trial{{"git status", nil}, {"cargo --version", errors.New("it ended with status 1")}})
	if len(n.found) != 2 || n.found[0].Status != Warned || !strings.Contains(n.found[0].Text, "cargo") || !strings.Contains(n.found[1].Text, "git status") {
		t.Errorf("%+v", n.found)
	}
}

func TestSEC02_AProbeThatGetsThroughIsAFailure(t *testing.T) {
	n := &notes{}
	judgeProbes(n, []probe.Result{{Name: "tcp", Promise: "P13", Refused: true}, {Name: "udp", Promise: "P13", Why: "it got through"}})
	wants(t, n.found, Failed, "udp (promise P13): it got through")
	if len(n.found) != 1 || n.found[0].Do == "" {
		t.Errorf("%+v", n.found)
	}
	n = &notes{}
	judgeProbes(n, []probe.Result{{Refused: true}, {Refused: true}})
	wants(t, n.found, Good, "all 2 tries")
	wants(t, examine(t, "sandbox", Machine{Unsandboxed: true}), Warned, "turned off")
	wants(t, examine(t, "probes", Machine{Unsandboxed: true}), Warned, "none was tried")
}

func TestOPS02_VersionsAreCompared(t *testing.T) {
	for version, want := range map[string]bool{
		"2.15.0": false, "2.15.2": false, "2.14.9": true, "v2.15.0-RC.1": false, "3.0.0": false, "2.15": true, "": true, "6.18.44-x": false, "1.99.99": true,
	} {
		if got := older(version, [3]int{2, 15, 0}); got != want {
			t.Errorf("%q is older than 2.15.0: %t", version, got)
		}
	}
}

func TestOPS02_NearestAndSize(t *testing.T) {
	dir := t.TempDir()
	if got := nearest(filepath.Join(dir, "a", "b")); got != dir {
		t.Errorf("nearest is %s, want %s", got, dir)
	}
	for b, want := range map[uint64]string{5 << 20: "5 MiB", 3 << 29: "1.5 GiB", 100 << 30: "100 GiB"} {
		if got := size(b); got != want {
			t.Errorf("%d bytes are %s, want %s", b, got, want)
		}
	}
}
