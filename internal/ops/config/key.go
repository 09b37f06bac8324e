package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// Kind is what a value of a [Key] looks like in a file.
type Kind int

// The kinds.
const (
	Text   Kind = iota // a string
	Switch             // true or false
	Whole              // an integer
	Number             // an integer or a float
	List               // an array of strings
)

// String says the kind in words.
func (k Kind) String() string {
	return [...]string{"a string", "true or false", "a whole number", "a number", "an array of strings"}[k]
}

// Key is something that can be set. Its zero value beside a name is a string
// that only the operator sets.
type Key struct {
	// Name is the name of the flag, and of the key in a file.
	Name string
	Kind Kind
	// Keyed says that it is a table, each entry of which is of Kind; an entry
	// of kind List may also be one string.
	Keyed bool
	// Kinds are those of the entries that are not of Kind.
	Kinds map[string]Kind
	// Project says that its entries belong to projects, and stand in
	// [project.ENTRY] as a key of this name.
	Project bool
	// Loose says that it may also stand outside of projects, as a List.
	Loose bool
	// Unflagged says that there is no flag of its name: it is set in files alone.
	Unflagged bool
	// Path says that values are paths, relative to the directory of the file.
	Path bool
	// Workspace says that the file of a workspace may set it.
	Workspace bool
	// Foreign refuses what the file of a workspace must not say, beyond paths
	// that lead out of it. Nil refuses nothing.
	Foreign func(value string) error
	// Check refuses values; entry is "" unless Keyed. Nil refuses nothing.
	Check func(entry string, values []string) error
}

// The keys of a project that are one flag together, NAME=PATH@BRANCH.
const (
	ProjectKey = "project"
	repository = "repository"
	branch     = "branch"
)

// Schema is all that can be set.
type Schema []Key

// find returns the key of that name, or nil.
func (s Schema) find(name string) *Key {
	if i := slices.IndexFunc(s, func(k Key) bool { return k.Name == name }); i >= 0 {
		return &s[i]
	}
	return nil
}

// names lists the keys that can stand at the top of a file, or in a project.
func (s Schema) names(project bool) []string {
	var list []string
	for _, k := range s {
		if project == k.Project || !project && k.Loose {
			list = append(list, k.Name)
		}
	}
	if project {
		return append(list, repository, branch)
	}
	return append(list, ProjectKey)
}

// From says what kind of place a value came from.
type From string

// The kinds of places, from the weakest to the strongest.
const (
	FromDefault     From = "default"
	FromFile        From = "file"
	FromRemembered  From = "remembered"
	FromEnvironment From = "environment"
	FromFlag        From = "flag"
	FromRegistered  From = "registered" // on a host that runs, which goes over all of a later start
)

// Origin is where a value came from.
type Origin struct {
	From From `json:"from"`
	// Name is the file, the variable or the flag.
	Name string `json:"name,omitempty"`
	// Line and Column in the file count from 1.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// String returns FILE:LINE:COLUMN, the variable, the flag, or "default".
func (o Origin) String() string {
	if o.From == FromFile || o.From == FromRemembered {
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return cmp.Or(o.Name, string(FromDefault))
}

// Setting is one value. Of a key that is a table it is one entry.
type Setting struct {
	// Key is the name of the key.
	Key string
	// Entry is the name of the entry, "" for a key that is no table.
	Entry string
	// Values has one value, or all of a list's, as a flag takes them.
	Values []string
	Origin Origin
}

// Name returns the setting as one names it in words: KEY or KEY.ENTRY, and for
// what belongs to a project project.ENTRY.KEY.
func (s Setting) Name(schema Schema) string {
	k := schema.find(s.Key)
	switch {
	case s.Entry == "":
		return s.Key
	case k == nil || k.Project:
		return ProjectKey + "." + s.Entry + "." + s.Key
	}
	return s.Key + "." + s.Entry
}

// Layer is what one place says, in its order.
type Layer []Setting

// over returns the settings of both; l goes over what is below it.
func (l Layer) over(below Layer) Layer {
	all := slices.Clone(l)
	for _, s := range below {
		if !l.has(s.Key, s.Entry) {
			all = append(all, s)
		}
	}
	return all
}

func (l Layer) has(key, entry string) bool {
	return slices.ContainsFunc(l, func(s Setting) bool { return s.Key == key && s.Entry == entry })
}

// password is the user part of an address.
var password = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/@\s]*@`)

// Shown returns a value as it can be shown: without the name and password that
// an address may hold.
func Shown(value string) string {
	return password.ReplaceAllString(value, "${1}(hidden)@")
}

// secretive matches names of keys that somebody would keep a secret in.
var secretive = regexp.MustCompile(`(?i)(api[-_]?key|secret|token|passw|credential)`)

// entryName is what an entry of a table may be called.
var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Nameable reports whether a file can have an entry of that name; "" is none.
func Nameable(entry string) bool { return entry == "" || entryName.MatchString(entry) }
