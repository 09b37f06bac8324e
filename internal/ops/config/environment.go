package config

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Prefix begins the names of variables that Loom reads as settings.
const Prefix = "LOOM_"

// Variable returns the variable that sets a key: LOOM_LOCK_LEASE for lock-lease.
func Variable(key string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// Environment reads the variables that set a key, from NAME=VALUE each. An
// empty one counts as not set. A key that takes several values takes one a
// line, a table NAME=VALUE a line, and of numbers also with commas between.
// Variables with the prefix that set nothing are in ignored, with the one that
// may have been meant; they are no mistake, because others may have set them.
func (s Schema) Environment(environ []string) (l Layer, ignored []string, err error) {
	known := map[string]*Key{}
	for i := range s {
		known[Variable(s[i].Name)] = &s[i]
	}
	var errs []*fault.Error
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, Prefix) || value == "" {
			continue
		}
		k := known[name]
		if k == nil {
			ignored = append(ignored, unread(name, known))
			continue
		}
		read, bad := k.variable(name, value)
		l, errs = append(l, read...), append(errs, bad...)
	}
	slices.Sort(ignored)
	return l, ignored, fault.Join(errs)
}

func unread(name string, known map[string]*Key) string {
	var names []string
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := suggest.Nearest(name, names); near != "" {
		return name + " (did you mean " + near + "?)"
	}
	return name
}

// variable reads the value of a variable that sets the key.
func (k *Key) variable(name, value string) (l Layer, errs []*fault.Error) {
	from := Origin{From: FromEnvironment, Name: name}
	add := func(entry string, values ...string) {
		if k.Check != nil {
			if err := k.Check(entry, values); err != nil {
				e := *fault.From(err)
				e.More = nil
				errs = append(errs, e.At(name))
				return
			}
		}
		l = l.Add(Setting{k.Name, entry, values, from})
	}
	switch {
	case k.Keyed || k.Project:
		for _, line := range k.lines(value) {
			entry, v, ok := strings.Cut(line, "=")
			switch {
			case !ok && k.Loose:
				add("", line)
			case !ok || !entryName.MatchString(entry):
				errs = append(errs, fault.New("config/value", "not NAME=VALUE").At(name).Got(Shown(line)))
			default:
				add(entry, v)
			}
		}
	case k.Kind == List:
		add("", k.lines(value)...)
	default:
		add("", strings.TrimSpace(value))
	}
	return l, errs
}

// Add appends a setting, or its values to those of the same entry.
func (l Layer) Add(s Setting) Layer {
	for i := range l {
		if l[i].Key == s.Key && l[i].Entry == s.Entry {
			l[i].Values = append(l[i].Values, s.Values...)
			return l
		}
	}
	return append(l, s)
}

// lines parts a value.
func (k *Key) lines(value string) []string {
	if k.Kind == Whole {
		value = strings.ReplaceAll(value, ",", "\n")
	}
	var list []string
	for line := range strings.SplitSeq(value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}
