package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/config"
)

// Said returns where a configured value of a flag came from; otherwise is what
// the command line says.
func (a *Console) Said(key, entry, otherwise string) string {
	if a == nil || a.Config == nil || slices.Contains(a.Given[key], entry) {
		return otherwise
	}
	for _, s := range a.Config.Get(key) {
		if s.Entry == entry {
			return s.Origin.String()
		}
	}
	return otherwise
}

// Whence gives an error about a flag the place where its value was configured.
func (a *Console) Whence(err error) error {
	f := fault.From(err)
	if a.Config == nil || f == nil {
		return err
	}
	moved := *f
	moved.Where = a.place(f)
	moved.More = nil
	for _, m := range f.More {
		one := *m
		one.Where = a.place(m)
		moved.More = append(moved.More, &one)
	}
	return &moved
}

// place returns where the value stands that an error is about, for a flag that
// was not given.
func (a *Console) place(e *fault.Error) string {
	name := strings.ReplaceAll(strings.TrimPrefix(e.Where, "--"), " ", "-")
	if _, was := a.Given[name]; was {
		return e.Where
	}
	var all, exact []string
	for _, s := range a.Config.Settings {
		if s.Key != name && (name != config.ProjectKey || s.Key != "repository") {
			continue
		}
		all = append(all, s.Origin.String())
		if about(e, s) {
			exact = append(exact, s.Origin.String())
		}
	}
	if len(exact) > 0 {
		all = exact
	}
	return cmp.Or(strings.Join(all, ", "), e.Where)
}

// about reports whether an error names the entry or a value of a setting.
func about(e *fault.Error, s config.Setting) bool {
	return s.Entry != "" && strings.Contains(e.Message, strconv.Quote(s.Entry)) ||
		slices.ContainsFunc(s.Values, func(v string) bool {
			return e.Value != "" && strings.Contains(e.Value, strings.Trim(fault.Echo(v), `"`))
		})
}
