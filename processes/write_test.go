package processes_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// What is written is read again as the same, whatever the texts are.
func TestWF01_WrittenAndReadAgain(t *testing.T) {
	rs := roles.Builtin()
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		def := drawDefinition(t)
		for _, n := range def.Nodes {
			n.Description = rapid.String().Draw(t, "description")
			if n.Persona != "" {
				n.Persona = rapid.StringN(1, 200, 2000).Draw(t, "persona")
			}
		}
		def.Description = rapid.SampledFrom([]string{"", "a\n\n  b\n c", "- x", "'\"", "a: b # c", "\u2028\n\u0085x", "tab\tand\r\nmore", "&a *b !c", " | "}).Draw(t, "text")
		if len(processes.Validate(def, rs)) > 0 {
			return
		}
		seen++
		def = processes.Complete(def, rs)
		text := processes.Write(def)
		again, err := processes.Parse("p.yaml", text, rs)
		if err != nil {
			t.Fatalf("written, and refused: %v\n%s", err, text)
		}
		if processes.Hash(again) != processes.Hash(def) || !proto.Equal(again, def) {
			t.Fatalf("%v\nbecame\n%v\nby\n%s", def, again, text)
		}
	})
	if seen == 0 {
		t.Error("no definition was sound")
	}
}

func TestWF01_BuiltinsWrittenAndReadAgain(t *testing.T) {
	rs := roles.Builtin()
	l := processes.Builtin(rs)
	for _, name := range l.Names() {
		def, _ := l.Get(name)
		again, err := processes.Parse("p.yaml", processes.Write(def), rs)
		if err != nil || processes.Hash(again) != processes.Hash(def) {
			t.Errorf("%s: %v\n%s", name, err, processes.Write(def))
		}
	}
}
