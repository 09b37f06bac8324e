package isolation

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/place/setup"
	"github.com/loomrun/loom/internal/place/setups"
	"github.com/loomrun/loom/roles"
)

// benchPackages is how many packages npm installs, of so many files each.
const benchPackages, benchFiles = 620, 30

// BenchmarkREAL02_Setup measures how a checkout gets node_modules: by npm from a
// cache that has everything, and by a copy of what is kept.
func BenchmarkREAL02_Setup(b *testing.B) {
	h, dir := box(b)
	if !has(b, h, dir, "node", "npm") {
		return
	}
	files := map[string][]byte{}
	lock := map[string]any{}
	deps := map[string]string{}
	for n := range benchPackages {
		name := fmt.Sprintf("part%d", n)
		content := map[string]string{"package/package.json": fmt.Sprintf(`{"name":%q,"version":"1.0.0"}`, name)}
		for i := range benchFiles {
			content[fmt.Sprintf("package/lib/%d.js", i)] = strings.Repeat(fmt.Sprintf("exports.f%d = () => %d;\n", i, n), 100)
		}
		pack := tarball(b, content)
		sum := sha512.Sum512(pack)
		integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
		files["/"+name+"/-/"+name+"-1.0.0.tgz"] = pack
		lock["node_modules/"+name] = map[string]string{"version": "1.0.0", "resolved": "https://registry.npmjs.org/" + name + "/-/" + name + "-1.0.0.tgz", "integrity": integrity}
		deps[name] = "1.0.0"
	}
	index := serving(b, files)
	top := map[string]any{"name": "shop", "version": "1.0.0", "dependencies": deps}
	lock[""] = top
	asText := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		return string(data)
	}
	dir = checkoutOf(b, map[string]string{
		".gitignore": "node_modules/\n", ".npmrc": "registry=http://" + index + "/\n", "package.json": asText(top),
		"package-lock.json": asText(map[string]any{"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": lock}),
	})
	b.Setenv("npm_config_cache", filepath.Join(b.TempDir(), "cache"))
	fetch := exec.CommandContext(context.Background(), "npm", "ci", "--no-audit", "--no-fund")
	fetch.Dir = dir
	if said, err := fetch.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
	step := setup.Plan(setup.Wants{}, os.DirFS(dir))[0]
	kept, err := setups.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("npm ci", func(b *testing.B) {
		for b.Loop() {
			if r := runAs(b, h.Exec("shop", roles.Role{}, b.TempDir()), dir, step.Script()); r.ExitCode != 0 {
				b.Fatalf("%s: %s", r.Summary, r.Output)
			}
		}
	})
	b.Run("keep", func(b *testing.B) {
		for b.Loop() {
			if err := kept.Keep(b.Context(), "shop", "k", dir, step.Keep.Makes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			if _, err := kept.Lay(b.Context(), "shop", "k", b.TempDir(), step.Keep.Makes); err != nil {
				b.Fatal(err)
			}
		}
	})
}
