package isolation

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/internal/place/setup"
	"github.com/loomrun/loom/internal/place/setups"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// serving is an index of packages at an address of this machine.
func serving(t testing.TB, files map[string][]byte) (host string) {
	t.Helper()
	mux := http.NewServeMux()
	for path, data := range files {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", map[string]string{"": "text/html", ".json": "application/json"}[filepath.Ext(path)])
			_, _ = w.Write(bytes.ReplaceAll(data, []byte("INDEX"), []byte("http://"+r.Host)))
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// tarball is a gzipped archive of files.
func tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// published is an index of npm's format with one package, left 1.0.0, of a manifest
// and a module.
func published(t testing.TB, manifest, module string) (index, integrity string) {
	t.Helper()
	var about map[string]any
	if err := json.Unmarshal([]byte(manifest), &about); err != nil {
		t.Fatal(err)
	}
	pack := tarball(t, map[string]string{"package/package.json": manifest, "package/index.js": module})
	sum := sha512.Sum512(pack)
	integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	about["dist"] = map[string]string{"tarball": "INDEX/left/-/left-1.0.0.tgz", "integrity": integrity}
	about["hasInstallScript"] = about["scripts"] != nil
	return serving(t, map[string][]byte{
		"/left":                  asJSON(t, map[string]any{"name": "left", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": about}}),
		"/left/-/left-1.0.0.tgz": pack,
	}), integrity
}

// wheel is a package for pip, of one module.
func wheel(t *testing.T, name, module string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	info := name + "-1.0.0.dist-info/"
	for _, f := range [][2]string{
		{name + ".py", module},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		part, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func asJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkoutOf is a checkout with files, under git.
func checkoutOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	var all []git.File
	for path, content := range files {
		all = append(all, git.File{Path: path, Data: []byte(content)})
	}
	if err := git.Create(t.Context(), dir, "main", "first", all); err != nil {
		t.Fatal(err)
	}
	return dir
}

// found is the one command that the files of a checkout ask for.
func found(t *testing.T, dir string) string {
	t.Helper()
	plan := setup.Plan(setup.Wants{Online: true}, os.DirFS(dir))
	if len(plan) != 1 {
		t.Fatalf("the plan is %+v", plan)
	}
	return plan[0].Script()
}

// laid is another checkout of the same commit, made ready by a copy of what the setup
// has made in dir.
func laid(t *testing.T, dir string) (copied string) {
	t.Helper()
	step := setup.Plan(setup.Wants{Online: true}, os.DirFS(dir))[0]
	kept, err := setups.Open(t.TempDir())
	if err == nil {
		err = kept.Keep(t.Context(), "shop", "k", dir, step.Keep.Makes)
	}
	if err != nil {
		t.Fatal(err)
	}
	copied = filepath.Join(t.TempDir(), "copied")
	asUser(t, dir, "clone", "-q", dir, copied)
	if _, err := kept.Lay(t.Context(), "shop", "k", copied, step.Keep.Makes); err != nil {
		t.Fatal(err)
	}
	return copied
}

// What is kept of npm's installation depends on nothing but the lock file: what
// scripts make of the checkout's files is made in each checkout. A client that was
// generated from the schema of an older commit would have a verification judge that.
func TestREAL03_KeptPackagesHaveNothingOfAnotherCommit(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !has(t, h, dir, "node", "npm") {
		return
	}
	t.Setenv("npm_config_cache", filepath.Join(t.TempDir(), "no-cache"))
	manifest := `{"name":"left","version":"1.0.0","scripts":{"postinstall":"cp ../../schema made.js"}}`
	index, integrity := published(t, manifest, `module.exports = require("./made.js")`)
	dir = checkoutOf(t, map[string]string{
		".gitignore": "node_modules/\nran\n", ".npmrc": "registry=http://" + index + "/\n", "schema": "module.exports = 'first'\n",
		"package.json":      `{"name":"shop","version":"1.0.0","scripts":{"postinstall":"echo own >> ran; cp schema node_modules/own.js"},"dependencies":{"left":"1.0.0"}}`,
		"package-lock.json": `{"name":"shop","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"shop","version":"1.0.0","hasInstallScript":true,"dependencies":{"left":"1.0.0"}},"node_modules/left":{"version":"1.0.0","resolved":"https://registry.npmjs.org/left/-/left-1.0.0.tgz","integrity":"` + integrity + `","hasInstallScript":true}}}`,
	})
	step := setup.Plan(setup.Wants{Online: true}, os.DirFS(dir))[0]
	if r := runSetup(t, h, dir, step.Making()+" && ls node_modules/left node_modules", index); r.ExitCode != 0 || strings.Contains(r.Output, "made.js") || strings.Contains(r.Output, "own.js") {
		t.Fatalf("what is kept: %s: %s; want the packages as they were published", r.Summary, r.Output)
	}
	copied := laid(t, dir)
	if err := os.WriteFile(filepath.Join(copied, "schema"), []byte("module.exports = 'second'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := runAs(t, h.Exec("shop", roles.Role{}, t.TempDir()), copied, step.Onto()+` && node -p 'require("left") + " " + require("own")' && cat ran && npm ls`)
	if r.ExitCode != 0 || !strings.Contains(r.Output, "second second\nown\n") || strings.Count(r.Output, "own\n") != 1 {
		t.Errorf("on the copy: %s: %s; want what this checkout's files make, and each script once", r.Summary, r.Output)
	}
}

// runSetup runs a command as one of the setup of a project that names registries.
func runSetup(t *testing.T, h *Commands, dir, script string, registries ...string) tool.Result {
	t.Helper()
	p := h.ExecSetup(&loomv1.ProjectConfig{Id: "shop", SetupRegistries: registries}, roles.Role{}, t.TempDir())
	return runAs(t, p, dir, script)
}

func runAs(t testing.TB, p tool.Policy, dir, script string) tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	set := tool.New(tool.Workspace{Root: dir, Scratch: t.TempDir(), Exec: p}, nil)
	return set.Call(ctx, []string{"shell"}, 5*time.Minute, &loomv1.ToolCall{Id: "setup-1", Tool: "shell", Arguments: string(asJSON(t, map[string]string{"command": script}))})
}

// has reports whether this machine has a sandbox and programs. What it has not is
// said loudly.
func has(t testing.TB, h *Commands, dir string, programs ...string) bool {
	t.Helper()
	if !sandboxed(t, h, dir) {
		return false
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("NO %s ON THIS MACHINE: what it does with a registry is not tested", strings.ToUpper(name))
			return false
		}
	}
	return true
}

// Package managers install from a registry that is named, in the formats that
// they really speak, and from there alone.
func TestREAL02_PackagesComeFromANamedRegistry(t *testing.T) {
	longtest.Skip(t)
	home := t.TempDir()
	t.Run("REAL02 npm", func(t *testing.T) {
		h, dir := box(t)
		if !has(t, h, dir, "node", "npm") {
			return
		}
		t.Setenv("npm_config_cache", filepath.Join(home, "no-cache"))
		index, integrity := published(t, `{"name":"left","version":"1.0.0"}`, `module.exports = "left is here"`)
		dir = checkoutOf(t, map[string]string{
			".gitignore": "node_modules/\nprepared\n", ".npmrc": "registry=http://" + index + "/\n",
			"package.json":      `{"name":"shop","version":"1.0.0","scripts":{"prepare":"mkdir -p node_modules/own && pwd > prepared"},"dependencies":{"left":"1.0.0"}}`,
			"package-lock.json": `{"name":"shop","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"shop","version":"1.0.0","dependencies":{"left":"1.0.0"}},"node_modules/left":{"version":"1.0.0","resolved":"https://registry.npmjs.org/left/-/left-1.0.0.tgz","integrity":"` + integrity + `"}}}`,
		})
		r := runSetup(t, h, dir, found(t, dir)+` && node -p 'require("left")'`, index)
		if r.ExitCode != 0 || !strings.Contains(r.Output, "left is here") || !strings.Contains(r.Output, "\n[asked for "+index+" ") || !strings.Contains(r.Ran, "registries: "+index) {
			t.Errorf("%s: %s", r.Summary, r.Output)
		}
		copied := laid(t, dir)
		r = runAs(t, h.Exec("shop", roles.Role{}, t.TempDir()), copied, setup.Plan(setup.Wants{Online: true}, os.DirFS(copied))[0].Onto()+` && node -p 'require("left")' && cat prepared && npm ls`)
		if r.ExitCode != 0 || !strings.Contains(r.Output, "left is here\n"+copied+"\n") || !strings.Contains(r.Output, "left@1.0.0") {
			t.Errorf("from a copy, without a registry: %s: %s", r.Summary, r.Output)
		}
		if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		r = runSetup(t, h, dir, found(t, dir)+" --fetch-retries=0", "registry.example")
		if r.ExitCode == 0 || !strings.Contains(r.Output, "[asked for "+index+" ") || !strings.Contains(r.Output, "refused: it is not among setup-registry]") {
			t.Errorf("from a registry that is not named: %s: %s", r.Summary, r.Output)
		}
	})
	t.Run("REAL02 pip", func(t *testing.T) {
		h, dir := box(t)
		if !has(t, h, dir, "python3") {
			return
		}
		if err := exec.CommandContext(t.Context(), "python3", "-c", "import venv, ensurepip").Run(); err != nil {
			t.Log("NO venv AND ensurepip OF PYTHON ON THIS MACHINE: what pip does with a registry is not tested")
			return
		}
		t.Setenv("PIP_CACHE_DIR", filepath.Join(home, "no-cache"))
		pack := wheel(t, "rightpack", "said = 'right is here'\n")
		const file = "rightpack-1.0.0-py3-none-any.whl"
		index := serving(t, map[string][]byte{
			"/simple/rightpack/": fmt.Appendf(nil, `<!DOCTYPE html><html><body><a href="/files/%s#sha256=%x">%s</a></body></html>`, file, sha256.Sum256(pack), file),
			"/files/" + file:     pack,
		})
		dir = checkoutOf(t, map[string]string{
			".gitignore": ".venv/\n", "requirements.txt": fmt.Sprintf("--index-url http://%s/simple/\nrightpack==1.0.0 --hash=sha256:%x\n", index, sha256.Sum256(pack)),
		})
		r := runSetup(t, h, dir, found(t, dir)+` && .venv/bin/python -c 'import rightpack; print(rightpack.said)'`, index)
		kept, err := setups.Open(t.TempDir())
		if err == nil {
			err = kept.Keep(t.Context(), "shop", "k", dir, []string{".venv"})
		}
		if err == nil || !strings.Contains(err.Error(), "the directory in which it was made") {
			t.Errorf("a virtual environment is kept, which names its own path: %v", err)
		}
		if r.ExitCode != 0 || !strings.Contains(r.Output, "right is here") || !strings.Contains(r.Output, "\n[asked for "+index+" ") {
			t.Errorf("%s: %s", r.Summary, r.Output)
		}
	})
}

// request is a client that needs nothing but what a system has: it prints what the
// proxy answers to a line.
func request(line string) string {
	return `python3 - <<'END'
import socket
try:
    s = socket.create_connection(("127.0.0.1", ` + sandbox.ServeAddress[strings.LastIndexByte(sandbox.ServeAddress, ':')+1:] + `), 10)
    s.sendall(b"` + line + `\r\nHost: x\r\n\r\n")
    print(s.recv(4000).decode())
except OSError as e:
    print("no way out:", e)
END`
}

// What the setup may reach, agents' commands, checks and hooks may not; and the
// setup reaches nothing but what is named.
func TestREAL02_OnlyTheSetupReachesARegistry(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !has(t, h, dir, "python3") {
		return
	}
	index := serving(t, map[string][]byte{"/here": []byte("it is here")})
	port := index[strings.LastIndexByte(index, ':')+1:]
	ask := request("GET http://" + index + "/here HTTP/1.1")
	if r := runSetup(t, h, dir, ask, index); !strings.Contains(r.Output, "it is here") || !strings.Contains(r.Output, "[asked for "+index+" once: ") {
		t.Errorf("the setup: %s", r.Output)
	}
	t.Run("REAL02 an agent's shell", func(t *testing.T) {
		p := h.Exec("shop", roles.Role{}, t.TempDir())
		if r := runAs(t, p, dir, ask+"; env"); !strings.Contains(r.Output, "no way out") || strings.Contains(strings.ToLower(r.Output), "_proxy=") {
			t.Errorf("%s", r.Output)
		}
	})
	t.Run("REAL02 what is not named", func(t *testing.T) {
		for _, line := range []string{
			"CONNECT evil.example:443 HTTP/1.1", "CONNECT 127.0.0.1:" + port + " HTTP/1.1", "CONNECT localhost:" + port + " HTTP/1.1",
			"GET http://169.254.169.254/latest/meta-data HTTP/1.1", "GET /here HTTP/1.1",
		} {
			r := runSetup(t, h, dir, request(line), "registry.example", "localhost")
			if !strings.Contains(r.Output, "HTTP/1.1 403") && !strings.Contains(r.Output, "HTTP/1.1 400") {
				t.Errorf("%s: %s", line, r.Output)
			}
		}
	})
	t.Run("REAL02 the host's own network", func(t *testing.T) {
		script := `python3 -c 'import socket; socket.create_connection(("127.0.0.1", ` + port + `), 5)'`
		role := roles.Role{Sandbox: roles.Sandbox{Network: roles.NetworkHost}}
		h.Limits.Network = roles.NetworkHost
		defer func() { h.Limits.Network = "" }()
		if r := runAs(t, h.Exec("shop", role, t.TempDir()), dir, script); r.ExitCode != 0 {
			t.Fatalf("a role with the host's network does not have it, so that this shows nothing: %s", r.Output)
		}
		p := h.ExecSetup(&loomv1.ProjectConfig{Id: "shop", SetupRegistries: []string{index}}, role, t.TempDir())
		if r := runAs(t, p, dir, script); r.ExitCode == 0 {
			t.Errorf("the setup went around the proxy: %s", r.Output)
		}
	})
}

// Registries are refused where they could not be kept to, before anything runs.
func TestREAL02_RegistriesNeedASandboxWithoutCredentials(t *testing.T) {
	h, dir := box(t)
	if !has(t, h, dir) {
		return
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("//registry.example/:_authToken=canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	within := filepath.Join(home, ".config", "pip")
	if err := os.MkdirAll(within, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(within, "pip.conf"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &loomv1.ProjectConfig{Id: "shop", SetupRegistries: []string{"registry.example"}}
	for i, tt := range []struct {
		c    Commands
		p    *loomv1.ProjectConfig
		want string
	}{
		{Commands{}, p, ""},
		{Commands{Unsandboxed: true}, p, "without a sandbox its setup would reach everything"},
		{Commands{Unsandboxed: true}, &loomv1.ProjectConfig{Id: "shop"}, ""},
		{Commands{Read: []string{filepath.Dir(within)}}, p, "could read " + within},
		{Commands{}, &loomv1.ProjectConfig{Id: "shop", SetupRegistries: []string{"https://registry.example"}}, "not the name of a host"},
	} {
		tt.c.Data = h.Data
		errs := tt.c.CheckRegistries(tt.p)
		if tt.want == "" && len(errs) > 0 || tt.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", strconv.Itoa(i), errs, tt.want)
		}
	}
	if r := runSetup(t, h, dir, "grep -rs canary "+home+" $HOME /etc; env | grep canary; true", "registry.example"); r.ExitCode != 0 || strings.Contains(r.Output, "canary") {
		t.Errorf("%s", r.Output)
	}
	h.Read = []string{filepath.Dir(within)}
	if r := runSetup(t, h, dir, "true", "registry.example"); r.Code != "usage/argument" {
		t.Errorf("a setup that could read credentials ran: %s", r.Output)
	}
	h.Unsandboxed = true
	if r := runSetup(t, h, dir, "true", "registry.example"); r.Code != "tool/no-sandbox" {
		t.Errorf("a setup without a sandbox ran: %s", r.Output)
	}
	if err := h.CheckRegistries(p); fault.Code(fault.Join(err)) != "usage/argument" {
		t.Errorf("%v", err)
	}
}
