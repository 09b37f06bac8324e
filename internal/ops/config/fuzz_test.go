package config_test

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/loomrun/loom/internal/base/fault"
)

// What is read is TOML, every mistake has a place, and nothing is half taken.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"", "model = \"x\"\n", "[project.shop]\nrepository = \"/x\"\ncheck = [\"a\", 'b']\n", "agents = {lead = 1}\n[agents]\n", "a.b.c = 1\n[a.b]\n",
		"[[x]]\n", "model = \"\"\"\na\"\"\"\n", "x = [[[[[[[[[[[1]]]]]]]]]]]\n", "\xff", "[project.shop]\n[project]\n", "tier.1 = \"\\u0000\"\n", "\r\n# x\r\n", "=",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, foreign bool) {
		l, err := some.File("f.toml", []byte(text), foreign)
		if err == nil {
			var any map[string]any
			if err := toml.Unmarshal([]byte(text), &any); err != nil {
				t.Errorf("taken, and is no TOML: %v", err)
			}
			for _, s := range l {
				if s.Name(some) == "" || s.Origin.Line < 1 || s.Origin.Column < 1 || strings.ContainsRune(strings.Join(s.Values, ""), 0) {
					t.Errorf("a setting without name or place, or with a zero byte: %+v", s)
				}
			}
			return
		}
		first := fault.From(err)
		for _, e := range append([]*fault.Error{first}, first.More...) {
			if !strings.HasPrefix(e.Where, "f.toml:") || !strings.HasPrefix(e.Code, "config/") || l != nil {
				t.Errorf("%+v", e)
			}
		}
	})
}
