package repomap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/repomap"
)

// said is an outline's symbols, a line each.
func said(o repomap.Outline) (list []string) {
	for _, s := range o.Symbols {
		local := ""
		if s.Local {
			local = " (local)"
		}
		list = append(list, fmt.Sprintf("%d %s: %s%s", s.Line, s.Name, s.Signature, local))
	}
	return list
}

func TestREPO01_Outlines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		imports    []string
	}{
		{"a.go", `package a

import "example.com/shop/price"

type Cart struct{ items []price.Item }
type Sum[T any] interface{ Add(T) T }

const limit, Most = 1, 2

// Total adds up.
func (c *Cart) Total(
	tax float64, // percent
) (int, error) { var inner int; return inner, nil }
func main() {}
`, []string{
			"5 Cart: type Cart struct", "6 Sum: type Sum[T any] interface{ Add(T) T }", "8 limit: const limit (local)", "8 Most: const Most",
			"11 Total: func (c *Cart) Total(tax float64) (int, error)", "14 main: func main() (local)",
		}, []string{"example.com/shop/price"}},
		{"broken.go", "package a\nfunc Whole() {}\nfunc {", []string{"2 Whole: func Whole()"}, nil},
		{"a.ts", "import { x } from './x'\nimport \"side\"\nconst fs = require('fs')\n" + `
/* class No {} */ // function no() {}
export interface Options<T = {}> extends Base {
  port?: number
  listen(host: string): void
}
export type Handler = (r: Request) => void
export default class Server<T> extends Base {
  #secret = { a: 1 }
  constructor(private port: number) { super(); if (port) { this.start(port) } }
  async start(
    at: number,
  ): Promise<void> {
    const inner = 1; function nested() {}
  }
  handler = (r: Request): void => {}
  static get name() { return ` + "`a ${ { b: `}` } } function no() {}`" + ` }
}
export const serve = async (port: number): Promise<Server> => { class Hidden {} }
const re = /function no() {\/[/]/g, n = 4 / 2 / 1
function helper(a = {}) { return /}/.test(a) }
app.use = function use(fn) {}
export enum Level { Low }
module.exports = { helper }
`, []string{
			"6 Options: interface Options<T = {}> extends Base", "8 listen: Options.listen(host: string): void",
			"10 Handler: type Handler", "11 Server: class Server<T> extends Base", "13 constructor: Server.constructor(private port: number)",
			"14 start: Server.start(at: number): Promise<void>", "19 handler: Server.handler", "20 name: Server.name()",
			"22 serve: const serve = async (port: number): Promise<Server>", "23 re: const re (local)", "24 helper: function helper(a = {}) (local)",
			"25 use: app.use = function use(fn)", "26 Level: enum Level",
		}, []string{"./x", "side", "fs"}},
		{"a.py", `"""def no(): pass"""
import os, os.path as p
from .base import (Base,
    other as another)
from a.b import c
LIMIT: int = 3
async def fetch(url: str,
                *, timeout=1) -> bytes:
    def inner(): pass
    x = 'def no():'  # class No:
class Cart(Base):
    size = 1
    def total(self, tax: float = 0.1) -> dict[str, int]:
        return {}
    class Meta: pass
    def _hidden(self): pass
if True:
    def late(): pass
`, []string{
			"6 LIMIT: LIMIT", "7 fetch: async def fetch(url: str, *, timeout=1) -> bytes", "11 Cart: class Cart(Base)",
			"13 total: Cart.total(self, tax: float = 0.1) -> dict[str, int]", "15 Meta: class Meta", "16 _hidden: Cart._hidden(self) (local)", "18 late: def late()",
		}, []string{"os", "os.path", ".base", ".base.Base", ".base.other", "a.b", "a.b.c"}},
		{"a.rs", "// fn no() {}\npub struct Cart<'a> { c: char }\nimpl<'a> Cart<'a> { fn total(&self) -> char { '\\'' } }\nconst S: &str = \"fn no()\";\nmacro_rules! vecs { () => {} }", []string{"2 Cart: ", "3 total: ", "4 S: ", "5 vecs: "}, nil},
		{"a.ex", "# def no\ndefmodule Shop.Cart do\n  def total(cart), do: \"def no\"\n  defp hidden, do: 1\nend", []string{"2 Cart: ", "3 total: ", "4 hidden: "}, nil},
		{"a.rb", "module Shop\n  class Cart < Base\n    def self.build; end\n    def total # def no\n    end\n  end\nend", []string{"1 Shop: ", "2 Cart: ", "3 build: ", "4 total: "}, nil},
		{"A.java", "public class Cart { interface Line {} /* enum No {} */ }", []string{"1 Cart: ", "1 Line: "}, nil},
		{"read.me", "func no() {}", nil, nil},
	} {
		o := repomap.Read(tt.name, []byte(tt.text))
		if diff := cmp.Diff(tt.want, said(o), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: symbols (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.imports, o.Imports, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: imports (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What is written by machines, or is too large, is on the map by name alone.
func TestREPO01_MachineTextIsNotOutlined(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		dull       bool
	}{
		{"a.js", strings.Repeat("function f(){return 1};", 1000), true},
		{"a.go", "// Code generated by x. DO NOT EDIT.\npackage a\n", true},
		{"a.go", "package a\n// " + strings.Repeat("long ", repomap.MaxSource/5), false},
		{"a.py", "def f(): pass\x00", false},
	} {
		o := repomap.Read(tt.name, []byte(tt.text))
		if o.Dull != tt.dull || len(o.Symbols) > 0 {
			t.Errorf("%s %.20q: dull %t with %d symbols, want dull %t and none", tt.name, tt.text, o.Dull, len(o.Symbols), tt.dull)
		}
	}
}

// hostile are texts that lead a careless reader into deep or endless work.
var hostile = []string{
	"", "\xff\xfe\x00", "'", "\"\"\"", "`${`${`${", "/", "/[", "\\", "class", "class {", "import", "from . import (", "def f(", "function", "a.b.c=function", "const", "@", "'a", "''", "'\\",
	strings.Repeat("(", 60_000), strings.Repeat("{", 60_000), strings.Repeat("`${", 40_000), strings.Repeat("class A{", 40_000), strings.Repeat("a.", 40_000),
	strings.Repeat("def f():\n ", 30_000), strings.Repeat("x", repomap.MaxSource/4), strings.Repeat("a=(", 40_000), "from a import " + strings.Repeat("b,", 40_000), "package a\nfunc f() {" + strings.Repeat("[", 60_000),
	"package a\nvar x = " + strings.Repeat("-", 100_000), "package a\ntype T " + strings.Repeat("[]", 20_000) + "int",
	strings.Repeat("const a = (\n", 30_000), "class A{" + strings.Repeat("a=(\n", 30_000), strings.Repeat("fÀ\u202e", 20_000),
}

var everyExtension = []string{".go", ".ts", ".py", ".rs", ".ex", ".rb", ".java", ".sh", ".lua", ".proto"}

func checkOutline(t *testing.T, name string, data []byte) {
	o := repomap.Read(name, data)
	for _, s := range o.Symbols {
		if !utf8.ValidString(s.Name+s.Signature) || strings.ContainsAny(s.Signature, "\n\r\x1b") || len(s.Signature) > 200 || s.Line < 1 {
			t.Errorf("%s: symbol %q, signature %q, line %d", name, s.Name, s.Signature, s.Line)
		}
	}
	back, err := repomap.Decode(o.Encode())
	if diff := cmp.Diff(o, back, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%s: encoded and decoded: %v (-want +got):\n%s", name, err, diff)
	}
}

func TestREPO01_HostileTextIsOutlined(t *testing.T) {
	longtest.Skip(t)
	for _, text := range hostile {
		for _, ext := range everyExtension {
			checkOutline(t, "a"+ext, []byte(text))
			checkOutline(t, "a"+ext, []byte(strings.Repeat("\n", 4000)+text)) // not taken for minified
		}
	}
}

func FuzzREPO01_Read(f *testing.F) {
	for _, text := range hostile {
		f.Add([]byte(text[:min(len(text), 200)]))
	}
	f.Add([]byte("export class A<T> { async b(c = `${d}`): e => {} }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ext := range everyExtension {
			checkOutline(t, "a"+ext, data)
		}
	})
}

func FuzzREPO01_Decode(f *testing.F) {
	whole := repomap.Read("a.go", []byte("package a\nimport \"b\"\nfunc F() { b.G() }")).Encode()
	f.Add(whole)
	for i := range whole {
		f.Add(slices.Concat(whole[:i], []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, whole[i:]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := repomap.Decode(data)
		if err != nil && len(o.Symbols)+len(o.Refs)+len(o.Words)+len(o.Imports) > 0 {
			t.Errorf("an error and an outline")
		}
	})
}
