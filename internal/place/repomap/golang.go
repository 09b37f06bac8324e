package repomap

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// readGo outlines Go source with the language's own parser, as far as it goes
// in a file that is not sound.
func readGo(b *builder, data []byte) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if f == nil {
		return
	}
	g := &goReader{builder: b, fset: fset, data: data}
	for _, s := range f.Imports {
		if name, err := strconv.Unquote(s.Path.Value); err == nil {
			b.imported(name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				g.spec(d.Tok, s)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			b.refer(id.Name)
		}
		return true
	})
}

type goReader struct {
	*builder
	fset *token.FileSet
	data []byte
}

func (g *goReader) function(d *ast.FuncDecl) {
	s := Symbol{Name: d.Name.Name, Kind: Func, Line: g.line(d.Pos()), Local: !d.Name.IsExported(), Signature: g.text(d.Pos(), d.Type.End())}
	if d.Recv != nil {
		s.Kind = Method
	}
	g.symbol(s)
}

func (g *goReader) spec(tok token.Token, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		end := s.Type.End()
		switch t := s.Type.(type) {
		case *ast.StructType:
			end = t.Struct + token.Pos(len("struct"))
		case *ast.InterfaceType:
			end = t.Interface + token.Pos(len("interface"))
			if t.Methods != nil && len(t.Methods.List) < 6 {
				end = t.End()
			}
		}
		g.symbol(Symbol{Name: s.Name.Name, Kind: Type, Line: g.line(s.Pos()), Local: !s.Name.IsExported(), Signature: "type " + g.text(s.Pos(), end)})
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.Name != "_" {
				g.symbol(Symbol{Name: name.Name, Kind: Value, Line: g.line(name.Pos()), Local: !name.IsExported(), Signature: tok.String() + " " + name.Name})
			}
		}
	}
}

func (g *goReader) line(p token.Pos) int { return g.fset.PositionFor(p, false).Line }

func (g *goReader) text(from, to token.Pos) string {
	a, b := g.fset.PositionFor(from, false).Offset, g.fset.PositionFor(to, false).Offset
	if a < 0 || b > len(g.data) || a > b { // the parser mended what was not sound
		return ""
	}
	text := string(g.data[a:min(b, a+8*maxSignature)])
	if !strings.Contains(text, "//") {
		return text
	}
	var code []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		code = append(code, line)
	}
	return strings.Join(code, " ")
}
