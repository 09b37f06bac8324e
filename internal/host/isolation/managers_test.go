package isolation

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/ceokey"
)

// Each program that works on this machine works in the sandbox too, whichever
// manager keeps it.
func TestREAL01_InterpretersOfManagersWork(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	for _, argv := range Starts {
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Logf("NOT RUN: %q does not work on this machine: %v: %.200s", argv, err, out)
			continue
		}
		if out, ok := runIn(t, h, "tool", dir, "'"+strings.Join(argv, "' '")+"'"); !ok {
			t.Errorf("%q: %s", argv, out)
		}
	}
}

// What a manager's programs lead to is readable, by the layout that it has; keys
// that lie beside it are not.
func TestREAL01_ManagersAreReadableAndTheirKeysAreNot(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, m := range managers {
		t.Setenv(m.variable, "")
	}
	elsewhere := filepath.Join(t.TempDir(), "mine")
	t.Setenv("ASDF_DATA_DIR", elsewhere)
	conda := filepath.Join(home, "conda")
	files := map[string]bool{
		filepath.Join(home, ".pyenv/libexec/pyenv"):              true,
		filepath.Join(home, ".pyenv/versions/3.11.7/bin/python"): true,
		filepath.Join(home, ".nvm/versions/node/v20/bin/node"):   true,
		filepath.Join(home, ".rustup/toolchains/stable/cargo"):   true,
		filepath.Join(home, ".cargo/bin/cargo"):                  true,
		filepath.Join(elsewhere, "installs/ruby/3/bin/ruby"):     true,
		filepath.Join(conda, "lib/libpython.so"):                 true,
		filepath.Join(home, ".cargo/credentials.toml"):           false,
		filepath.Join(home, ".nvm/.cache/token"):                 false,
		filepath.Join(home, ".local/share/keyrings/login"):       false,
		filepath.Join(home, "lib/secret"):                        false,
		filepath.Join(conda, "etc/token"):                        false,
	}
	for file := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Join(conda, "bin"), filepath.Join(home, "bin"), filepath.Join(home, ".local/bin")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", strings.Join([]string{
		filepath.Join(home, ".pyenv/shims"), filepath.Join(home, ".cargo/bin"), filepath.Join(home, ".local/bin"), filepath.Join(home, "bin"),
		filepath.Join(conda, "bin"), os.Getenv("PATH"),
	}, ":"))
	for file, readable := range files {
		if out, ok := runIn(t, h, "tool", dir, "cat "+file); ok != readable {
			t.Errorf("%s: readable %t: %s", file, ok, out)
		}
	}
	if env := toolEnv(); !slices.Contains(env, "ASDF_DATA_DIR="+elsewhere) || !slices.Contains(env, "PYENV_ROOT="+filepath.Join(home, ".pyenv")) {
		t.Errorf("commands are not told where the versions are: %q", env)
	}
}

// An interpreter of a manager that is not known here, to which a link on the PATH
// leads, is told at the start, and no more once the operator has named its place.
func TestREAL01_TheStartSaysWhichInterpretersAreHidden(t *testing.T) {
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	home := t.TempDir()
	version, bin := filepath.Join(home, "versions", "node-20"), filepath.Join(home, ".local", "bin")
	node := filepath.Join(version, "bin", "node")
	for _, d := range []string{filepath.Dir(node), bin} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(node, []byte("#!/bin/sh\necho v20\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(node, filepath.Join(bin, "node")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, named := range []bool{false, true} {
		if named {
			h.Read = []string{version}
		}
		var said strings.Builder
		h.SayHidden(slog.New(slog.NewTextHandler(&said, nil)))
		lines := strings.Count(said.String(), "program="+node+"\n")
		if told := lines == 1 && strings.Contains(said.String(), "--sandbox-read"); told == named || named && lines != 0 {
			t.Errorf("named %t: said %q", named, said.String())
		}
		if out, ok := runIn(t, h, "tool", dir, bin+"/node -v"); ok != named {
			t.Errorf("named %t: starts %t: %s", named, ok, out)
		}
	}
}

// A path that the sandbox would not show is refused at the start.
func TestREAL01_APathToReadIsHonouredOrRefused(t *testing.T) {
	top := t.TempDir()
	home, data, tools := filepath.Join(top, "home"), filepath.Join(top, "data"), filepath.Join(top, "tools")
	for _, d := range []string{home, filepath.Join(data, "git", "repos"), tools} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	if err := os.Symlink(data, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(top, "keys", "ceo.nk")
	for _, d := range []string{filepath.Join(home, ".config", "loom"), filepath.Dir(key)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	own, err := ceokey.DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]string{
		tools:                              "",
		filepath.Join(top, "nothing"):      "what is not there",
		"/":                                "the whole machine",
		home:                               "the home directory",
		data:                               "the data directory",
		filepath.Join(data, "git/repos"):   "the data directory",
		filepath.Join(top, "link", "git"):  "the data directory",
		top:                                "the home directory",
		filepath.Dir(data):                 "the home directory",
		"/proc":                            "has its own",
		"/proc/self":                       "has its own",
		"/dev/shm":                         "has its own",
		filepath.Join(home, "..", "tools"): "",
	} {
		if err := fault.Join((&Commands{Data: data, Read: []string{path}}).Check(own)); (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("--sandbox-read %s: %v, want %q", path, err, refused)
		}
	}
	for path, at := range map[string]string{filepath.Join(home, ".config"): own, filepath.Join(home, ".config", "loom"): own, filepath.Dir(key): key} {
		err := fault.Join((&Commands{Data: data, Read: []string{path}}).Check(at))
		if err == nil || !strings.Contains(err.Error(), "the CEO's key") {
			t.Errorf("--sandbox-read %s with the key at %q: %v", path, at, err)
		}
	}
}
