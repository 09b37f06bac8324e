package strictyaml_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// Whatever the bytes, there is an answer; and what was accepted is written out
// and read again as the same.
func FuzzF36_Decode(f *testing.F) {
	for _, seed := range []string{
		"", "name: a", "name: a\ncount: 2.0\n", "name: &a x\ntags: [*a, ! b]\n", "? [x]\n: y\n", "a: &a [*a]",
		"name: \"\\x41\\u263A\"\nwait: 1h\nratio: 1e300\nlimit: -9\nparts: [{id: x, args: []}]\n",
		"name: >-\n  folded\n  text\nfields:\n  \"a b\": |\n    x\n\n", "---\nname: x\n...\n---\n", "%YAML 1.1\n---\nname: x\n",
		"name: 'it''s'\n# \u2028\non: true\n", "name: a\r\non: true\r\n", "#\n\n0:\n- - \n", "name: >\n \n 00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, again sample
		if strictyaml.Decode("f", data, &first) != nil {
			return
		}
		text := write(first)
		if err := strictyaml.Decode("f", []byte(text), &again); err != nil {
			t.Fatalf("accepted %q, but not %q: %v", data, text, err)
		}
		if diff := cmp.Diff(first, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q became %q:\n%s", data, text, diff)
		}
	})
}

// write prints a sample in one line. The library's own writer is not used: it
// loses line breaks.
func write(s sample) string {
	text := fmt.Sprintf("{name: %s, count: %d, small: %d, ratio: %s, on: %t, wait: %s",
		quote(s.Name), s.Count, s.Small, strconv.FormatFloat(s.Ratio, 'f', -1, 64), s.On, s.Wait)
	text += ", tags: [" + quoted(s.Tags) + "], fields: {"
	for _, k := range slices.Sorted(maps.Keys(s.Fields)) {
		text += quote(k) + ": " + quote(s.Fields[k]) + ", "
	}
	text += "}"
	if s.Limit != nil {
		text += fmt.Sprintf(", limit: %d", *s.Limit)
	}
	text += ", parts: ["
	for _, p := range s.Parts {
		text += "{id: " + quote(p.ID) + ", args: [" + quoted(p.Args) + "]}, "
	}
	return text + "]}"
}

func quoted(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, quote(s))
	}
	return strings.Join(all, ", ")
}

func quote(s string) string { return strconv.QuoteToASCII(s) }
