// Command measure tells how large and how tangled the code is, in one table:
//
//	go -C tools/measure run .
//
// Hand-written lines are those of Go files that are not generated, blank lines and
// comments too. "Product" leaves out tests, bench, test and tools. A function with
// one caller is named once in the product, outside of itself. Back arrows are the
// references from function to function that go up when the files of a package stand
// in the order that has the fewest (Eades, Lin, Smyth: A fast and effective heuristic
// for the feedback arc set problem, 1993). Places of a kind of event, a tool and a
// kind of node are the product's files that name it; of many the median counts.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/loomrun/loom/"

func main() {
	root := flag.String("root", "../..", "directory of the module")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	rows, err := measure(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
	if *asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		_ = out.Encode(rows)
		return
	}
	for _, r := range rows {
		fmt.Printf("| %s | %s |\n", r.What, r.Is)
	}
}

// row is one line of the table.
type row struct{ What, Is string }

func measure(root string) ([]row, error) {
	product, err := load(root)
	if err != nil {
		return nil, err
	}
	lines, err := countLines(root)
	if err != nil {
		return nil, err
	}
	rows := []row{
		{"hand-written lines of the product", fmt.Sprint(lines["product"])},
		{"hand-written lines of tests; of bench and tools", fmt.Sprintf("%d; %d", lines["test"], lines["bench"])},
		{"generated lines", fmt.Sprint(lines["generated"])},
		{"packages of the product; the largest by lines", fmt.Sprintf("%d; %s", len(product), largestPackages(product))},
		{"functions; with one caller", oneCaller(product)},
		{"the types with the most methods", mostMethods(product)},
	}
	for _, p := range bySize(product)[:3] {
		rows = append(rows, row{"back arrows in " + short(p), backArrows(p)})
	}
	return append(rows, places(product)...), nil
}

func load(root string) ([]*packages.Package, error) {
	all, err := packages.Load(&packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "./...")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(all) > 0 {
		return nil, fmt.Errorf("the module does not build")
	}
	return slices.DeleteFunc(all, func(p *packages.Package) bool {
		top, _, _ := strings.Cut(short(p), "/")
		return top == "bench" || top == "test" || top == "tools" || top == "proto" && !strings.HasSuffix(short(p), "subject")
	}), nil
}

func short(p *packages.Package) string { return strings.TrimPrefix(p.PkgPath, module) }

func countLines(root string) (map[string]int, error) {
	count := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		top, _, _ := strings.Cut(rel, string(filepath.Separator))
		kind := "product"
		switch {
		case strings.HasSuffix(path, ".pb.go"):
			kind = "generated"
		case top == "bench" || top == "tools":
			kind = "bench"
		case top == "test" || strings.HasSuffix(path, "_test.go"):
			kind = "test"
		}
		count[kind] += strings.Count(string(data), "\n")
		return nil
	})
	return count, err
}

func linesOf(p *packages.Package) (n int) {
	for _, f := range p.Syntax {
		n += p.Fset.Position(f.FileEnd).Line
	}
	return n
}

func bySize(list []*packages.Package) []*packages.Package {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *packages.Package) int { return linesOf(b) - linesOf(a) })
	return list
}

func largestPackages(list []*packages.Package) string {
	var parts []string
	for _, p := range bySize(list)[:8] {
		parts = append(parts, fmt.Sprintf("%s %d", short(p), linesOf(p)))
	}
	return strings.Join(parts, ", ")
}

// functions are those that a package declares, and where.
func functions(p *packages.Package) map[types.Object]*ast.FuncDecl {
	all := map[types.Object]*ast.FuncDecl{}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all[p.TypesInfo.Defs[fn.Name]] = fn
			}
		}
	}
	return all
}

// used calls each with every function that a body of p names, and the body's own.
func used(p *packages.Package, each func(by, of types.Object)) {
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			var by types.Object
			if fn, ok := d.(*ast.FuncDecl); ok {
				by = p.TypesInfo.Defs[fn.Name]
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if fn, ok := p.TypesInfo.Uses[id].(*types.Func); ok && fn.Origin() != by {
						each(by, fn.Origin())
					}
				}
				return true
			})
		}
	}
}

// key names a function over packages: those that are imported are other objects.
func key(o types.Object) string { return o.(*types.Func).FullName() }

func oneCaller(list []*packages.Package) string {
	count := map[string]int{}
	for _, p := range list {
		used(p, func(_, of types.Object) { count[key(of)]++ })
	}
	all, once := 0, 0
	for _, p := range list {
		for o := range functions(p) {
			all++
			if count[key(o)] == 1 {
				once++
			}
		}
	}
	return fmt.Sprintf("%d; %d", all, once)
}

func mostMethods(list []*packages.Package) string {
	count := map[string]int{}
	for _, p := range list {
		for o := range functions(p) {
			if recv := o.Type().(*types.Signature).Recv(); recv != nil {
				count[strings.TrimPrefix(strings.TrimPrefix(recv.Type().String(), "*"), module)]++
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	over := 0
	for _, n := range count {
		if n > 40 {
			over++
		}
	}
	var parts []string
	for _, n := range names[:6] {
		parts = append(parts, fmt.Sprintf("%s %d", n, count[n]))
	}
	return fmt.Sprintf("%s; %d have more than 40", strings.Join(parts, ", "), over)
}

// backArrows counts the references that go up in the best order of p's files.
func backArrows(p *packages.Package) string {
	in := map[types.Object]string{}
	for o, fn := range functions(p) {
		in[o] = p.Fset.Position(fn.Pos()).Filename
	}
	arrows, seen, all := map[[2]string]int{}, map[[2]types.Object]bool{}, 0
	used(p, func(by, of types.Object) {
		from, to := in[by], in[of]
		if from == "" || to == "" || from == to || seen[[2]types.Object{by, of}] {
			return
		}
		seen[[2]types.Object{by, of}] = true
		arrows[[2]string{from, to}]++
		all++
	})
	place := map[string]int{}
	for i, f := range order(arrows) {
		place[f] = i
	}
	back := 0
	for a, n := range arrows {
		if place[a[0]] > place[a[1]] {
			back += n
		}
	}
	return fmt.Sprintf("%d of %d", back, all)
}

// order puts files so that few arrows go back: sinks last, sources first, else the
// file that has most more arrows going out than coming in.
func order(arrows map[[2]string]int) []string {
	left := map[string]bool{}
	for a := range arrows {
		left[a[0]], left[a[1]] = true, true
	}
	var first, last []string
	for len(left) > 0 {
		out, in := map[string]int{}, map[string]int{}
		for a, n := range arrows {
			if left[a[0]] && left[a[1]] {
				out[a[0]] += n
				in[a[1]] += n
			}
		}
		names := slices.Sorted(maps.Keys(left))
		best := ""
		for _, f := range names {
			if out[f] == 0 {
				last = append(last, f)
				delete(left, f)
				best = ""
				break
			}
			if best == "" || in[f] == 0 && in[best] != 0 || out[f]-in[f] > out[best]-in[best] && (in[f] == 0) == (in[best] == 0) {
				best = f
			}
		}
		if best != "" {
			first = append(first, best)
			delete(left, best)
		}
	}
	slices.Reverse(last)
	return append(first, last...)
}

// places tells in how many files of the product things are named that are many.
func places(list []*packages.Package) []row {
	events, kinds, tools := map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	note := func(m map[string]map[string]bool, name, file string) {
		if m[name] == nil {
			m[name] = map[string]bool{}
		}
		m[name][file] = true
	}
	literals := map[string]map[string]bool{}
	for _, p := range list {
		for _, f := range p.Syntax {
			file := p.Fset.Position(f.Pos()).Filename
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					switch name := n.Sel.Name; {
					case strings.HasPrefix(name, "Event_"):
						note(events, strings.TrimPrefix(name, "Event_"), file)
					case strings.HasPrefix(name, "NodeKind_NODE_KIND_"):
						note(kinds, name, file)
					}
				case *ast.BasicLit:
					note(literals, strings.Trim(n.Value, "`\""), file)
				case *ast.KeyValueExpr:
					if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Name" && strings.HasSuffix(p.PkgPath, "/agents/tool") {
						if v, ok := n.Value.(*ast.BasicLit); ok {
							tools[strings.Trim(v.Value, "`\"")] = nil
						}
					}
				}
				return true
			})
		}
	}
	for name := range tools {
		tools[name] = literals[name]
	}
	return []row{
		{"files that name a kind of event (and its message's options)", median(events)},
		{"files that name a kind of node", median(kinds)},
		{"files that name a tool", median(tools)},
	}
}

func median(m map[string]map[string]bool) string {
	var sizes []int
	for _, files := range m {
		sizes = append(sizes, len(files))
	}
	if len(sizes) == 0 {
		return "none found"
	}
	slices.Sort(sizes)
	return fmt.Sprintf("median %d, most %d, of %d", sizes[len(sizes)/2], sizes[len(sizes)-1], len(sizes))
}
