package console

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/config"
)

// forgotten are the flags of "loom up" that no later start has from this one: they are
// about this command line, about one start, or kept elsewhere in the data directory.
var forgotten = append([]string{
	"data", "record", "join", "seed", "cluster", "cluster-listen", "cluster-advertise", "routes", "board",
}, Unset...)

// rememberedIn returns the file with what the host was started with before, "" where
// there is none, before the settings in it are read.
func (a *Console) rememberedIn(flags *pflag.FlagSet, c *config.Config) (string, error) {
	dir := flags.Lookup("data").Value.String()
	if said := c.Get("data"); dir == "" && len(said) > 0 {
		dir = said[0].Values[0]
	}
	if dir == "" {
		var err error
		if dir, err = host.DefaultData(); err != nil {
			return "", nil //nolint:nilerr // there is none; whoever needs the directory is told
		}
	}
	path, err := filepath.Abs(filepath.Join(dir, config.RememberedName))
	if err != nil {
		return "", err
	}
	if !seen(path) { // a first start, or a directory of somebody else's host
		return "", nil
	}
	return path, nil
}

// seen reports whether there is a file that this user can know of.
func seen(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ToRemember returns what the command line said that a later start should know.
func (a *Console) ToRemember(flags *pflag.FlagSet) (said config.Layer) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, was := a.Given[f.Name]; was && !slices.Contains(forgotten, f.Name) {
			said = append(said, a.givenBy(flags, f)...)
		}
	})
	return said
}

// Remember writes what the command line said into the data directory, beside what was
// remembered and in its place, so that a later start needs none of it. It returns the
// flags that are not kept because a secret is in them, or a file could not hold them.
func (a *Console) Remember(said config.Layer, secret func(string) bool) (left []string, err error) {
	said = slices.DeleteFunc(said, func(s config.Setting) bool {
		open := slices.ContainsFunc(s.Values, func(v string) bool { return config.Shown(v) != v || secret(v) })
		if open || !config.Nameable(s.Entry) {
			left = append(left, "--"+s.Key)
			return true
		}
		return false
	})
	kept, changed := config.Remember(a.Config.Remembered, said)
	if !changed {
		return left, nil
	}
	return left, a.writeRemembered(a.Settings(), kept)
}

func (a *Console) rememberedPath() string {
	if abs, err := filepath.Abs(a.Data); err == nil {
		return filepath.Join(abs, config.RememberedName)
	}
	return filepath.Join(a.Data, config.RememberedName)
}

func (a *Console) writeRemembered(schema config.Schema, l config.Layer) error {
	data, err := schema.Render(a.rememberedPath(), l)
	if err != nil {
		return err
	}
	return privatefile.Replace(a.rememberedPath(), data)
}

// givenBy returns what the command line said by a flag, as settings of a file: paths
// are absolute, since the next start may be elsewhere.
func (a *Console) givenBy(flags *pflag.FlagSet, f *pflag.Flag) (l config.Layer) {
	k := KeyOf(f)
	switch {
	case f.Name == config.ProjectKey:
		for _, v := range Slice(flags, f) {
			name, path, _ := strings.Cut(v, "=")
			if slices.Contains(a.Given[f.Name], name) {
				path, branch := CutBranch(path)
				l = append(l, config.RememberedProject(name, absolute(path), branch)...)
			}
		}
	case k.Keyed || k.Project:
		for _, v := range Slice(flags, f) {
			name, value, ok := strings.Cut(v, "=")
			if !ok {
				name, value = "", v
			}
			if slices.Contains(a.Given[f.Name], name) {
				l = l.Add(config.Setting{Key: f.Name, Entry: name, Values: []string{located(k, value)}})
			}
		}
	case k.Kind == config.List:
		s := config.Setting{Key: f.Name, Values: []string{}}
		for _, v := range Slice(flags, f) {
			s.Values = append(s.Values, located(k, v))
		}
		l = append(l, s)
	default:
		l = append(l, config.Setting{Key: f.Name, Values: []string{located(k, f.Value.String())}})
	}
	return l
}

// located is a value with its path made absolute, if it has one.
func located(k config.Key, v string) string {
	switch {
	case v == "":
		return v
	case k.Path:
		return absolute(v)
	case k.Name == "model" || k.Name == "tier" || k.Name == "role-model":
		specs := strings.Split(v, ",")
		for i, spec := range specs {
			kind, file, _ := strings.Cut(strings.TrimSpace(spec), ":")
			if kind == "replay" || kind == "scripted" && (strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")) {
				specs[i] = kind + ":" + absolute(file)
			}
		}
		return strings.Join(specs, ",")
	}
	return v
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// CutBranch splits PATH@BRANCH. Both can have an @, and a branch slashes: what is there
// is the path, the longest first. Where nothing is, an @ before the last slash is the
// path's own.
func CutBranch(s string) (path, branch string) {
	for end := len(s); end > 0; end = strings.LastIndexByte(s[:end], '@') {
		if info, err := os.Stat(s[:end]); err == nil && info.IsDir() {
			return s[:end], strings.TrimPrefix(s[end:], "@")
		}
	}
	if i := strings.LastIndexByte(s, '@'); i > strings.LastIndexByte(s, '/') {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// RememberedFlags are the flags that hold because an earlier start had them.
func (a *Console) RememberedFlags() (names []string) {
	for _, s := range a.Config.Settings {
		name := s.Key
		if name == "repository" || name == "branch" {
			name = config.ProjectKey
		}
		if _, anew := a.Given[name]; s.Origin.From == config.FromRemembered && !anew && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
