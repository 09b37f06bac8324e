package repomap_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/repomap"
)

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestAGENT03_Map(t *testing.T) {
	files := tree(map[string]string{
		"go.mod": "module m", "shop/price.go": "package shop\n\ntype Price int\n\nfunc (p *Price) Add(q Price) {}\nfunc hidden() {}\n",
		"shop/price_test.go": "package shop\nfunc TestX() {}\n", "broken/b.go": "package broken\nfunc {",
		".git/config": "x", "vendor/v/v.go": "package v\nfunc V() {}\n", "web/node_modules/m/i.js": "x", "web/index.html": "x",
	})
	want := "./: go.mod\nbroken/: b.go\nshop/: price.go price_test.go\n  price.go: type Price, func Price.Add\nweb/: index.html\n"
	if got := repomap.Draw(files, "", 4096); got != want {
		t.Errorf("the map is\n%s\nwant\n%s", got, want)
	}
	if got := repomap.Draw(tree(nil), "", 4096); got != "" {
		t.Errorf("the map of nothing is %q", got)
	}
}

// What the words name is on a map that has no room for everything.
func TestAGENT03_MapShowsWhatIsNamed(t *testing.T) {
	files := map[string]string{"deep/down/billing/invoice.go": "package billing\n\nfunc Total() {}\n"}
	for i := range 100 {
		files[fmt.Sprintf("package%d/file.go", i)] = "package p\n\nfunc F() {}\n"
	}
	got := repomap.Draw(tree(files), "the invoice in billing is wrong", 1000)
	if !strings.Contains(got, "invoice.go: func Total") || !strings.Contains(got, "more directories are left out") {
		t.Errorf("the map is\n%s", got)
	}
}

func TestAGENT03_MapIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for range rapid.IntRange(0, 60).Draw(rt, "files") {
			name := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,12}`), 1, 4).Draw(rt, "name"), "/") + ".go"
			files[name] = "package p\n\nfunc Exported() {}\n"
		}
		limit := rapid.IntRange(200, 3000).Draw(rt, "limit")
		for name := range files { // a file is no directory
			for other := range files {
				if strings.HasPrefix(other, name+"/") {
					delete(files, other)
				}
			}
		}
		one := repomap.Draw(tree(files), "exported words", limit)
		if len(one) > limit {
			rt.Errorf("%d bytes, the limit is %d", len(one), limit)
		}
		if two := repomap.Draw(tree(files), "exported words", limit); one != two {
			rt.Errorf("twice drawn, twice different")
		}
	})
}
