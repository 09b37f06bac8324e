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
// was not given: one that is named as in "--grace", "memory/0" or "source/edgar", a
// project's as in "project shop, push", or a file that the value is.
func (a *Console) place(e *fault.Error) string {
	name, entry := strings.TrimPrefix(e.Where, "--"), ""
	if rest, ok := strings.CutPrefix(name, "project "); ok {
		id, what, _ := strings.Cut(rest, ", ")
		name, entry = projectKey(what), id
	} else {
		of := ""
		if name, of, _ = strings.Cut(name, "/"); name == "source" {
			entry = of
		}
		name = strings.NewReplacer(" ", "-", "_", "-").Replace(name)
	}
	flag := name
	if name == "repository" || name == "branch" {
		flag = config.ProjectKey
	}
	if entries, was := a.Given[flag]; was && (entry == "" || slices.Contains(entries, entry)) {
		return e.Where
	}
	at := a.stands(name, entry, e)
	if at == nil && name == "branch" {
		at = a.stands("repository", entry, e)
	}
	if at == nil && e.Where != "" {
		at = a.holds(e.Where)
	}
	return cmp.Or(strings.Join(at, ", "), e.Where)
}

// projectKey is the key of a project that words name, the repository for others.
func projectKey(words string) string {
	for _, key := range []string{"branch", "push"} {
		if strings.HasPrefix(words, key) {
			return key
		}
	}
	return "repository"
}

// stands returns where settings of a key stand, all or those that an error names.
func (a *Console) stands(key, entry string, e *fault.Error) (all []string) {
	var exact []string
	for _, s := range a.Config.Settings {
		if s.Key != key && (key != config.ProjectKey || s.Key != "repository") && (key != "repository" || s.Key != config.ProjectKey) || entry != "" && s.Entry != entry {
			continue
		}
		all = append(all, s.Origin.String())
		if about(e, s) {
			exact = append(exact, s.Origin.String())
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

// holds returns where settings stand whose value this is.
func (a *Console) holds(value string) (all []string) {
	for _, s := range a.Config.Settings {
		if slices.Contains(s.Values, value) {
			all = append(all, s.Origin.String())
		}
	}
	return all
}

// about reports whether an error names the entry or a value of a setting.
func about(e *fault.Error, s config.Setting) bool {
	named := strconv.Quote(s.Entry)
	return s.Entry != "" && (strings.Contains(e.Message, named) || e.Value == named) ||
		slices.ContainsFunc(s.Values, func(v string) bool {
			return e.Value != "" && strings.Contains(e.Value, strings.Trim(fault.Echo(v), `"`))
		})
}
