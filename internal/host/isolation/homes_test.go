package isolation

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/setup"
	"github.com/loomrun/loom/roles"
)

// crates is an index of one crate, as Cargo's sparse protocol has it, and a checkout
// that needs it.
func crates(t *testing.T) (index, dir string) {
	t.Helper()
	pack := tarball(t, map[string]string{
		"leftcrate-1.0.0/Cargo.toml": "[package]\nname = \"leftcrate\"\nversion = \"1.0.0\"\nedition = \"2021\"\n", "leftcrate-1.0.0/src/lib.rs": "pub const SAID: &str = \"left is here\";\n",
	})
	sum := fmt.Sprintf("%x", sha256.Sum256(pack))
	index = serving(t, map[string][]byte{
		"/config.json":                 []byte(`{"dl":"INDEX/dl"}`),
		"/le/ft/leftcrate":             []byte(`{"name":"leftcrate","vers":"1.0.0","deps":[],"features":{},"cksum":"` + sum + `","yanked":false}` + "\n"),
		"/dl/leftcrate/1.0.0/download": pack,
	})
	dir = checkoutOf(t, map[string]string{
		".gitignore":         ".cargo-home/\ntarget/\n",
		".cargo/config.toml": "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\nregistry = \"sparse+http://" + index + "/\"\n",
		"Cargo.toml":         "[package]\nname = \"shop\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\nleftcrate = \"1\"\n",
		"Cargo.lock":         "version = 3\n\n[[package]]\nname = \"leftcrate\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + sum + "\"\n\n[[package]]\nname = \"shop\"\nversion = \"1.0.0\"\ndependencies = [\n \"leftcrate\",\n]\n",
		"src/main.rs":        "fn main() { println!(\"{}\", leftcrate::SAID); }\n",
	})
	return index, dir
}

// Crates come from a registry that is named into the checkout, where its commands
// find them, and else from what this user has fetched; what proves who the user is
// lies beside them and is not read.
func TestREAL02_CratesComeFromARegistryOrTheUser(t *testing.T) {
	longtest.Skip(t)
	h, box := box(t)
	if !has(t, h, box, "cargo", "cc") {
		return
	}
	index, dir := crates(t)
	build := "cargo run -q --offline --locked"
	agents := h.Exec("shop", roles.Role{}, t.TempDir())
	if r := runAs(t, agents, dir, build); r.ExitCode == 0 {
		t.Fatalf("it builds before anything was fetched, so that this shows nothing: %s", r.Output)
	}
	if r := runSetup(t, h, dir, found(t, dir), index); r.ExitCode != 0 || !strings.Contains(r.Output, "[asked for "+index+" ") {
		t.Fatalf("%s: %s", r.Summary, r.Output)
	}
	if r := runAs(t, agents, dir, build); r.ExitCode != 0 || !strings.Contains(r.Output, "left is here") {
		t.Errorf("after the setup: %s", r.Output)
	}
	copied := laid(t, dir)
	if r := runAs(t, agents, copied, setup.Plan(setup.Wants{Online: true}, os.DirFS(copied))[0].Onto()+" && "+build); r.ExitCode != 0 || !strings.Contains(r.Output, "left is here") {
		t.Errorf("from a copy, without a registry: %s", r.Output)
	}

	home := filepath.Join(t.TempDir(), "cargo")
	if err := os.Rename(filepath.Join(dir, setup.CargoHome), home); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "credentials.toml"), []byte("[registry]\ntoken = \"canary\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CARGO_HOME", home)
	plan := setup.Plan(setup.Wants{}, os.DirFS(dir))
	agents = h.Exec("shop", roles.Role{}, t.TempDir())
	r := runAs(t, agents, dir, plan[0].Script()+" && "+build+"; grep -rs canary "+home+" $CARGO_HOME; find $CARGO_HOME/registry -name leftcrate-1.0.0.crate -exec sh -c 'echo poison > {}' \\;; ls "+home)
	if !strings.Contains(r.Output, "left is here") || strings.Contains(r.Output, "canary") || strings.Contains(r.Output, "credentials") {
		t.Errorf("from the user: %s", r.Output)
	}
	if files, err := filepath.Glob(filepath.Join(home, "registry", "cache", "*", "leftcrate-1.0.0.crate")); err != nil || len(files) != 1 || sizeOfFile(t, files[0]) < 100 {
		t.Errorf("the user's crate was written: %v, %v", files, err)
	}
	if r := runAs(t, h.Exec("shop", roles.Role{}, t.TempDir()), dir, "rm -rf target && "+build); r.ExitCode != 0 {
		t.Errorf("another place: %s", r.Output)
	}
}

func sizeOfFile(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Hex keeps a key beside its packages: commands see the packages alone. Mix is run
// where it is installed.
func TestREAL02_PackagesOfHexAreReadable(t *testing.T) {
	h, dir := box(t)
	if !has(t, h, dir) {
		return
	}
	home := t.TempDir()
	for name, content := range map[string]string{"packages/hexpm/left-1.0.0.tar": "left", "cache.ets": "index", "hex.config": "canary"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HEX_HOME", home)
	p := h.Exec("shop", roles.Role{}, t.TempDir())
	script := "cat $HEX_HOME/packages/hexpm/left-1.0.0.tar $HEX_HOME/cache.ets; echo x > $HEX_HOME/packages/hexpm/other; grep -rs canary $HEX_HOME " + home
	if r := runAs(t, p, dir, script); !strings.HasPrefix(r.Output, "leftindex") || strings.Contains(r.Output, "canary") {
		t.Errorf("%s", r.Output)
	}
	if entries, err := os.ReadDir(filepath.Join(home, "packages", "hexpm")); err != nil || len(entries) != 1 {
		t.Errorf("the user's packages are %v, %v", entries, err)
	}
	if !has(t, h, dir, "mix") {
		return
	}
	if r := runAs(t, p, dir, "mix --version"); r.ExitCode != 0 {
		t.Errorf("%s", r.Output)
	}
}

// A directory of wheels that the user's environment names is all that pip asks.
func TestREAL02_WheelsOfADirectory(t *testing.T) {
	longtest.Skip(t)
	h, box := box(t)
	if !has(t, h, box, "python3") {
		return
	}
	links := t.TempDir()
	if err := os.WriteFile(filepath.Join(links, "rightpack-1.0.0-py3-none-any.whl"), wheel(t, "rightpack", "said = 'right is here'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIP_FIND_LINKS", links)
	dir := checkoutOf(t, map[string]string{".gitignore": ".venv/\n", "requirements.txt": "rightpack==1.0.0\n"})
	plan := setup.Plan(setup.Wants{}, os.DirFS(dir))
	r := runAs(t, h.Exec("shop", roles.Role{}, t.TempDir()), dir, plan[0].Script()+" && .venv/bin/python -c 'import rightpack; print(rightpack.said)'")
	if r.ExitCode != 0 || !strings.Contains(r.Output, "right is here") {
		t.Errorf("%s", r.Output)
	}
	if env := h.Exec("shop", roles.Role{}, "").Env; !slices.Contains(env, "PIP_NO_INDEX=1") {
		t.Errorf("%v", env)
	}
	t.Setenv("PIP_FIND_LINKS", "https://user:canary@index.example/")
	if env := strings.Join(h.Exec("shop", roles.Role{}, "").Env, " "); strings.Contains(env, "canary") {
		t.Errorf("%s", env)
	}
}
