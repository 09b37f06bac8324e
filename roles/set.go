package roles

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
)

// sourced is a role and where its fields stand. It was added to a set, or was
// there before.
type sourced struct {
	role  Role
	at    func(path ...any) string
	added bool
}

func (s *Set) with(added []sourced) (*Set, []*fault.Error) {
	all := make(map[string]sourced, len(s.byName)+len(added))
	for name, r := range s.byName {
		all[name] = sourced{role: r, at: func(...any) string { return "role " + name }}
	}
	var errs []*fault.Error
	fresh := map[string]sourced{}
	for _, a := range added {
		name := a.role.Name
		if first, twice := fresh[name]; twice {
			errs = append(errs, fault.New("role/duplicate", "role %q stands at %s already", name, first.at("name")).At(a.at("name")))
			continue
		}
		if old, ok := s.byName[name]; ok && old.Human != a.role.Human {
			errs = append(errs, fault.New("role/invalid", "role %q must be human: %t, as the one it overrides", name, old.Human).At(a.at("human")))
		}
		fresh[name], all[name] = a, a
	}
	set, bad := index(all)
	return set, append(errs, bad...)
}

// index builds a set and refuses names that mean two roles.
func index(all map[string]sourced) (*Set, []*fault.Error) {
	s := &Set{byName: map[string]Role{}, alias: map[string]string{}}
	s.names = slices.Sorted(maps.Keys(all))
	var errs []*fault.Error
	for _, name := range s.names {
		s.byName[name] = all[name].role
		for _, alias := range all[name].role.Aliases {
			other := s.alias[alias]
			if _, taken := all[alias]; taken {
				other = alias
			}
			if other != "" {
				errs = append(errs, fault.New("role/duplicate", "%q names role %q as well as role %q", alias, name, other).
					At(blame(alias, all[name], all[other])))
			}
			s.alias[alias] = name
		}
	}
	return s, errs
}

// blame returns where a name stands that two roles have: in the one that was
// added, or the first if both were.
func blame(name string, a, b sourced) string {
	if !a.added {
		a = b
	}
	if i := slices.Index(a.role.Aliases, name); i >= 0 {
		return a.at("aliases", i)
	}
	return a.at("name")
}

// roleFiles lists the YAML files of a directory by name.
func roleFiles(dir fs.FS, name string) ([]string, error) {
	entries, err := fs.ReadDir(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path.Join(name, e.Name()))
		}
	}
	return files, err
}
