package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// RememberedName is the file of a data directory with what its host was started with.
const RememberedName = "remembered.toml"

// rememberedHead is what a person reads at the top of it.
const rememberedHead = `# What this host was started with: flags of "loom up", as they were given last.
# "loom up --data DIR" alone starts it so again. A flag that is given anew goes over
# what is here, and is written here; a line that you delete is forgotten.
# "loom config show --data DIR" says which value holds, and where it is from.
`

// RememberedProject is what --project NAME=PATH@BRANCH says, as settings of a file.
func RememberedProject(name, path, at string) Layer {
	l := Layer{{Key: repository, Entry: name, Values: []string{path}}}
	if at != "" {
		l = append(l, Setting{Key: branch, Entry: name, Values: []string{at}})
	}
	return l
}

// Remember returns what to keep when a host that remembers old is started with given,
// and whether that is something else. What is given replaces what is remembered of the
// same key and entry, a repository its branch too, and an address that no port is open.
func Remember(old, given Layer) (kept Layer, changed bool) {
	kept = given.over(slices.DeleteFunc(slices.Clone(old), func(s Setting) bool {
		switch s.Key {
		case branch:
			return given.has(repository, s.Entry)
		case "listen":
			return given.has("no-listen", "")
		case "no-listen":
			return given.has("listen", "")
		}
		return false
	}))
	same := func(a, b Setting) bool {
		return a.Key == b.Key && a.Entry == b.Entry && slices.Equal(a.Values, b.Values)
	}
	changed = len(kept) != len(old) || slices.ContainsFunc(kept, func(s Setting) bool {
		return !slices.ContainsFunc(old, func(o Setting) bool { return same(s, o) })
	})
	return kept, changed
}

// Render writes settings as the file that [Schema.File] reads them from, for name. It
// refuses with config/value what a file cannot hold.
func (s Schema) Render(name string, l Layer) ([]byte, error) {
	tables := map[string][]string{}
	for _, one := range l {
		table, key := "", one.Key
		switch k := s.find(one.Key); {
		case one.Key == repository || one.Key == branch || k != nil && k.Project && one.Entry != "":
			table = "project." + quoted(one.Entry)
		case k != nil && k.Keyed && one.Entry != "":
			table, key = one.Key, quoted(one.Entry)
		}
		tables[table] = append(tables[table], key+" = "+s.rendered(one)+"\n")
	}
	b := bytes.NewBufferString(rememberedHead)
	names := make([]string, 0, len(tables))
	for table := range tables {
		names = append(names, table)
	}
	slices.Sort(names) // "" is the first
	for _, table := range names {
		b.WriteByte('\n')
		if table != "" {
			fmt.Fprintf(b, "[%s]\n", table)
		}
		slices.Sort(tables[table])
		b.WriteString(strings.Join(tables[table], ""))
	}
	read, err := s.File(name, b.Bytes(), false)
	if err != nil {
		return nil, err
	}
	if _, differs := Remember(l, read); differs {
		return nil, fault.New("config/value", "a setting that cannot be written down").At(name)
	}
	return b.Bytes(), nil
}

// rendered is the value of a setting as TOML.
func (s Schema) rendered(one Setting) string {
	k := s.find(one.Key)
	switch {
	case k == nil:
		return Quote(one.Values[0])
	case k.Kind == List:
		list := make([]string, 0, len(one.Values))
		for _, v := range one.Values {
			list = append(list, Quote(v))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case k.Kind == Text:
		return Quote(one.Values[0])
	}
	return one.Values[0]
}

// quoted is a name as TOML has it: bare where it can be.
func quoted(name string) string {
	if name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == "" {
		return name
	}
	return Quote(name)
}

// Quote is a basic string of TOML, which has the escapes of JSON.
func Quote(v string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of a string
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`)
}
