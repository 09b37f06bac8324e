package config

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Name is the name of a configuration file.
const Name = "loom.toml"

// Places says where files may be. An empty path is none.
type Places struct {
	// Machine, User and Workspace are read if they are there, each over those
	// before it.
	Machine, User, Workspace string
	// Only is read in the place of all three, and must be there.
	Only string
	// Remembered is read over them if it is there: what a host was started with.
	Remembered string
}

// DefaultPlaces returns /etc/loom/loom.toml, loom.toml in the user's
// configuration directory, and the one of the workspace that dir lies in.
func DefaultPlaces(dir string) Places {
	p := Places{Machine: filepath.Join("/etc/loom", Name), Workspace: workspace(dir)}
	if user, err := os.UserConfigDir(); err == nil {
		p.User = filepath.Join(user, "loom", Name)
	}
	return p
}

// workspace returns the file in dir, or in the nearest directory above up to
// the one that has a .git, or "".
func workspace(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	first := filepath.Join(dir, Name)
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, Name)); err == nil {
			return filepath.Join(at, Name)
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return ""
		}
		if at == filepath.Dir(at) { // no repository: only the directory itself counts
			return existing(first)
		}
	}
}

func existing(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// Source is a file that could have been read.
type Source struct {
	// Path is where it is looked for.
	Path string `json:"path"`
	// Read says that it was there.
	Read bool `json:"read"`
	// Workspace says that it is held to what a workspace may set.
	Workspace bool `json:"workspace,omitempty"`
}

// Config is what files and environment say together.
type Config struct {
	Schema Schema
	// Settings are those that hold, by key and entry.
	Settings Layer
	// Remembered is what the host was started with before, whatever goes over it.
	Remembered Layer
	// Files are the places that were looked at, the weakest first.
	Files []Source
	// Ignored are variables that begin as Loom's do and set nothing.
	Ignored []string
}

// Load reads the files and the environment, NAME=VALUE each. All that is wrong
// in all of them is returned at once, and then no Config.
//
// Errors: config/file for one that is named and cannot be read,
// config/permissions for one that others can write into, and those of
// [Schema.File] and [Schema.Environment].
func (s Schema) Load(p Places, environ []string) (*Config, error) {
	c := &Config{Schema: s}
	files := []Source{{Path: p.Machine}, {Path: p.User}, {Path: p.Workspace, Workspace: true}}
	if p.Only != "" {
		files = []Source{{Path: p.Only}}
	}
	var errs []*fault.Error
	for _, f := range files {
		if f.Path == "" || slices.ContainsFunc(c.Files, func(o Source) bool { return o.Path == f.Path }) {
			continue
		}
		l, err := s.read(&f, p.Only != "")
		errs = collect(errs, err)
		c.Files = append(c.Files, f)
		c.Settings = c.over(l)
	}
	if p.Remembered != "" {
		f := Source{Path: p.Remembered}
		l, err := s.read(&f, false)
		errs = collect(errs, err)
		for i := range l {
			l[i].Origin.From = FromRemembered
		}
		if f.Read {
			c.Files = append(c.Files, f)
		}
		c.Remembered, c.Settings = l, c.over(l)
	}
	l, ignored, err := s.Environment(environ)
	errs = collect(errs, err)
	c.Settings, c.Ignored = c.over(l), ignored
	slices.SortStableFunc(c.Settings, func(a, b Setting) int {
		return cmp.Or(strings.Compare(a.Name(s), b.Name(s)), strings.Compare(a.Key, b.Key))
	})
	if len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return c, nil
}

// over returns the settings with l over them. What names a project's path and
// branch in one word replaces both.
func (c *Config) over(l Layer) Layer {
	below := slices.DeleteFunc(slices.Clone(c.Settings), func(s Setting) bool {
		return (s.Key == repository || s.Key == branch) && l.has(ProjectKey, s.Entry)
	})
	return l.over(below)
}

func collect(errs []*fault.Error, err error) []*fault.Error {
	if err == nil {
		return errs
	}
	first := *fault.From(err)
	more := first.More
	first.More = nil
	return append(append(errs, &first), more...)
}

// read reads a file if it is there.
func (s Schema) read(f *Source, must bool) (Layer, error) {
	data, err := readFile(f.Path, f.Workspace)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.Read = true
	return s.File(f.Path, data, f.Workspace)
}

// readFile reads a file that only its owner and the owner's group can change.
func readFile(path string, foreign bool) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New("config/file", "the configuration cannot be read").At(path).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, fault.New("config/file", "this is no file").At(path).Because(err)
	}
	if err := trusted(path, info, foreign); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fault.New("config/file", "the configuration cannot be read").At(path).Because(err)
	}
	return data, nil
}

// trusted refuses a file that anybody can write into, and a workspace's that
// belongs to somebody else.
func trusted(path string, info fs.FileInfo, foreign bool) error {
	if info.Mode().Perm()&0o002 != 0 {
		return fault.New("config/permissions", "everybody can write into this file (mode %04o)", info.Mode().Perm()).
			At(path).Want("chmod o-w it")
	}
	if foreign && !ours(info) {
		return fault.New("config/permissions", "this file belongs to another user").At(path).
			Want("chown it, or name it with --config")
	}
	return nil
}

// Get returns the settings of one key, by entry.
func (c *Config) Get(key string) Layer {
	var l Layer
	for _, s := range c.Settings {
		if s.Key == key {
			l = append(l, s)
		}
	}
	return l
}

// Arguments returns what the flag of a key is to be given for what is set, one
// value each; of a table, NAME=VALUE each. Entries in without are left out:
// those that the flag was given itself.
func (c *Config) Arguments(key string, without func(entry string) bool) []string {
	var list []string
	for _, s := range c.Get(key) {
		if without(s.Entry) {
			continue
		}
		for _, v := range s.Values {
			list = append(list, entry(s.Entry, v))
		}
	}
	if key != ProjectKey {
		return list
	}
	for _, s := range c.Get(repository) {
		if !without(s.Entry) && !c.Settings.has(ProjectKey, s.Entry) {
			list = append(list, entry(s.Entry, c.located(s)))
		}
	}
	return list
}

func entry(name, value string) string {
	if name == "" {
		return value
	}
	return name + "=" + value
}

// located returns PATH or PATH@BRANCH of a project.
func (c *Config) located(repo Setting) string {
	for _, s := range c.Get(branch) {
		if s.Entry == repo.Entry && s.Values[0] != "" {
			return repo.Values[0] + "@" + s.Values[0]
		}
	}
	return repo.Values[0]
}

// Secret reads a secret from a file: at most 64 KiB, without the line break at
// its end.
//
// Errors: config/file, config/permissions, config/limit; none has any of it.
func Secret(path string) (string, error) {
	data, err := readFile(path, false)
	if err != nil {
		return "", err
	}
	if len(data) > MaxFile {
		return "", fault.New("config/limit", "a secret has at most %d bytes", MaxFile).At(path)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
