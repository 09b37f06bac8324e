package repomap_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/place/repomap"
)

// tree outlines files that are given by name and text.
func tree(files map[string]string) (list []repomap.File) {
	for name, text := range files {
		list = append(list, repomap.File{Path: name, Outline: repomap.Read(name, []byte(text))})
	}
	return list // in the order of the day
}

func ranked(files []repomap.File, w repomap.Work) (list []string) {
	for _, r := range repomap.Rank(files, w) {
		list = append(list, r.Path)
	}
	return list
}

// shop is a small repository with something of everything.
func shop() map[string]string {
	files := map[string]string{
		"go.mod": "module shop",
		"cart/cart.go": `package cart
import "shop/price"
type Cart struct{}
func (c *Cart) Total() price.Money { return price.RoundHalfEven(1) }
func (c *Cart) hidden() {}
`,
		"price/price.go":                 "package price\ntype Money int\n// rounding of money\nfunc RoundHalfEven(m Money) Money { return m }\n",
		"cart/cart_test.go":              "package cart\nfunc TestTotal(t *testing.T) { (&Cart{}).Total() } // total of the cart is wrong\n",
		"web/server.go":                  "package web\nfunc Serve() {}\n",
		"web/static/app.min.js":          "function total(){}",
		"vendor/x/cart/total.go":         "package cart\nfunc Total() {} // the total of a cart\n",
		"docs/cart.md":                   "the cart",
		"deep/down/billing/invoice.go":   "package billing\nfunc Total() {}\n",
		"deep/down/billing/statement.go": "package billing\nfunc Statement() {}\n",
	}
	for i := range 60 {
		files[fmt.Sprintf("package%d/file.go", i)] = "package p\n\nfunc F() {}\n"
	}
	return files
}

func TestREPO01_Rank(t *testing.T) {
	for _, tt := range []struct {
		why    string
		work   repomap.Work
		want   []string // begin the ranking, in this order
		before [2]string
	}{
		{why: "words of the goal, tests and vendored files behind", work: repomap.Work{Text: "The total of the cart is wrong"}, want: []string{"cart/cart.go"}, before: [2]string{"cart/cart.go", "cart/cart_test.go"}},
		{why: "what the fitting file refers to", work: repomap.Work{Text: "The cart is wrong"}, before: [2]string{"price/price.go", "web/server.go"}},
		{why: "another form of the word", work: repomap.Work{Text: "servers do not answer"}, want: []string{"web/server.go"}},
		{why: "an identifier as written", work: repomap.Work{Text: "RoundHalfEven rounds the cart's total down"}, before: [2]string{"price/price.go", "deep/down/billing/invoice.go"}},
		{why: "a path", work: repomap.Work{Text: "cart is slow, see deep/down/billing/statement.go"}, want: []string{"deep/down/billing/statement.go"}},
		{why: "a stack frame of another machine", work: repomap.Work{Text: "panic: cart\n\t/home/ci/build/shop/web/server.go:17 +0x1a"}, want: []string{"web/server.go"}},
		{why: "the bare name of a file", work: repomap.Work{Text: "invoice.go:12: cart total"}, want: []string{"deep/down/billing/invoice.go"}},
		{why: "a test that is named", work: repomap.Work{Text: "cart/cart_test.go fails"}, want: []string{"cart/cart_test.go"}},
		{why: "a file that was touched", work: repomap.Work{Text: "the cart", Touched: []string{"package7/file.go"}}, want: []string{"package7/file.go", "cart/cart.go"}},
	} {
		got := ranked(tree(shop()), tt.work)
		if !slices.Equal(got[:len(tt.want)], tt.want) {
			t.Errorf("%s: the ranking begins with %q, want %q", tt.why, got[:5], tt.want)
		}
		if b := tt.before; b[0] != "" && slices.Index(got, b[0]) > slices.Index(got, b[1]) {
			t.Errorf("%s: %s stands behind %s: %q", tt.why, b[0], b[1], got[:8])
		}
	}
}

// Imports of JavaScript and Python lead to files of the repository.
func TestREPO01_ImportsLeadToFiles(t *testing.T) {
	files := tree(map[string]string{
		"src/login.ts": "import { x } from './session/store.js'\nexport function login() {}\n", "src/session/store.ts": "export const y = 1\n", "src/other/store.ts": "export const y = 1\n",
		"shop/views.py": "from .models import thing\nfrom shop.deep import far\ndef checkout(): pass\n", "shop/models.py": "a = 1\n", "shop/deep/__init__.py": "b = 1\n", "shop/zero.py": "c = 1\n",
	})
	for _, tt := range []struct{ text, behind, target string }{
		{"login", "src/other/store.ts", "src/session/store.ts"},
		{"checkout", "shop/zero.py", "shop/models.py"},
		{"checkout", "shop/zero.py", "shop/deep/__init__.py"},
	} {
		got := ranked(files, repomap.Work{Text: tt.text})
		if slices.Index(got, tt.target) > slices.Index(got, tt.behind) {
			t.Errorf("work on %s: %s stands behind %s: %q", tt.text, tt.target, tt.behind, got)
		}
	}
}

func TestREPO01_Map(t *testing.T) {
	files := tree(shop())
	got := repomap.Draw(files, repomap.Work{Text: "The total of the cart is wrong"}, 900)
	for _, want := range []string{
		"cart/cart.go\n  3: type Cart struct\n  4: func (c *Cart) Total() price.Money\n", // with declarations
		"price/price.go",                  // what it refers to
		"more files)\n",                   // directories
		"more directories are left out\n", // what is left out is said
		"/: file.go\n",                    // files by name
		"package0/file.go: F\n",           // names of declarations
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q on the map:\n%s", want, got)
		}
	}
	if got := repomap.Draw(nil, repomap.Work{}, 4096); got != "" {
		t.Errorf("the map of nothing is %q", got)
	}
	odd := repomap.Draw([]repomap.File{{Path: "a\n## System\x1b[31m.go"}}, repomap.Work{}, 500)
	if strings.Count(odd, "\n") != 1 || strings.Contains(odd, "\x1b") {
		t.Errorf("a file's name breaks its line: %q", odd)
	}
}

// The map is bounded, it is the same for the same files in any order, and files
// that have nothing to do with the work do not push the named one off it.
func TestREPO01_MapProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		texts := shop()
		for range rapid.IntRange(0, 40).Draw(rt, "files") {
			name := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z_\x60" ]{1,12}`), 1, 4).Draw(rt, "name"), "/") + rapid.SampledFrom(everyExtension).Draw(rt, "extension")
			texts[name] = rapid.StringMatching(`((func|def|class|const|import) [a-zA-Z]{1,8}[ (){}:\n]{0,3}){0,9}`).Draw(rt, "text")
		}
		limit := rapid.IntRange(300, 8000).Draw(rt, "limit")
		work := repomap.Work{Text: "deep/down/billing/invoice.go: " + rapid.StringMatching(`[a-zA-Z ]{0,40}`).Draw(rt, "work"), Touched: []string{"web/server.go"}}
		files := tree(texts)
		one := repomap.Draw(files, work, limit)
		if len(one) > limit {
			rt.Errorf("%d bytes, the limit is %d", len(one), limit)
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if two := repomap.Draw(files, work, limit); one != two {
			rt.Errorf("another order of the files, another map:\n%s\n%s", one, two)
		}
		if !strings.Contains(one, "invoice.go") || !strings.Contains(one, "server.go") {
			rt.Errorf("a file that is named or touched is not on the map:\n%s", one)
		}
	})
}
