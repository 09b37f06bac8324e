// Package roles knows who can work: the built-in roles, which are YAML files
// beside this one, and the roles that users add or override with files of
// their own. A role is data; what it may do is listed in it, and text never
// widens it. The package reads and checks; it runs nothing.
package roles

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/permission"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Role is who an agent is. Files spell the fields as in their yaml tags.
type Role struct {
	// Name is [a-z0-9][a-z0-9_-]{0,31}, unique with all aliases.
	Name string `yaml:"name" loom:"required"`
	// Summary is one line for people.
	Summary string `yaml:"summary" loom:"required"`
	// Aliases are other names of the role, of the same form.
	Aliases []string `yaml:"aliases"`
	// Persona is what an agent is told about itself.
	Persona string `yaml:"persona"`
	// Tier is what the work asks of a model: 1 (the fastest), 2 (the default)
	// or 3 (the strongest). Which models these are is for whoever runs a host.
	Tier int `yaml:"tier"`
	// Model, PROVIDER:MODEL or several with commas between them, is asked in the
	// place of its tier's.
	Model string `yaml:"model"`
	// Thinking says how its model reasons before it answers.
	Thinking Thinking `yaml:"thinking"`
	// Tools lists what the role may use; everything else is refused.
	Tools Tools `yaml:"tools"`
	// Limits bound one attempt.
	Limits Limits `yaml:"limits"`
	// Sandbox bounds what its commands use.
	Sandbox Sandbox `yaml:"sandbox"`
	// Agents is how many a host starts; the default is 1, at most 64.
	Agents int `yaml:"agents"`
	// Context shares out what the role's model takes.
	Context Context `yaml:"context"`
	// Architect is the tier, 1 to 3, of a second model that plans the changes
	// which the role's own then carries out. Zero means that one does both.
	Architect int `yaml:"architect"`
	// Human marks a role that people play: it has no model, tools or agents.
	Human bool `yaml:"human"`
	// Restart says how often an agent may crash.
	Restart Restart `yaml:"restart"`
}

// Thinking says how a role's model reasons. Where it says nothing, the model's own
// default holds.
type Thinking struct {
	// Effort is none, minimal, low, medium, high, xhigh or max, as far as the
	// model knows it.
	Effort string `yaml:"effort"`
	// Tokens is what one answer may take for reasoning beside Context.Output: 256
	// to 128,000, by default none of its own. Models that take a budget are given it.
	Tokens int `yaml:"tokens"`
}

// Tools names tools, each at most once. Ask means that a human answers first.
type Tools struct {
	Allow []string `yaml:"allow"`
	Ask   []string `yaml:"ask"`
	// Main are the tools that a model is shown with their whole schemas, as far as
	// the role has them; the others are called through one tool. "*" stands for all.
	// By default they are those of [MainTools].
	Main []string `yaml:"main"`
	// Rules say otherwise of some calls, by what they name.
	Rules []Rule `yaml:"rules"`
}

// Rule says of the calls of a tool on something what holds for them. One of Allow,
// Ask and Deny is the tool's name, which Tools lists.
type Rule struct {
	Allow string `yaml:"allow"`
	Ask   string `yaml:"ask"`
	Deny  string `yaml:"deny"`
	// On is a pattern as permissions have it: of a path its elements, with ** for
	// any number of them, of a command or address all of it, with * for any run of
	// characters.
	On string `yaml:"on" loom:"required"`
}

// Permission is what a rule says, as permissions do.
func (r Rule) Permission() *loomv1.Permission {
	switch {
	case r.Deny != "":
		return &loomv1.Permission{Verdict: permission.Deny, Tool: r.Deny, Pattern: r.On}
	case r.Ask != "":
		return &loomv1.Permission{Verdict: permission.Ask, Tool: r.Ask, Pattern: r.On}
	}
	return &loomv1.Permission{Verdict: permission.Allow, Tool: r.Allow, Pattern: r.On}
}

// Of returns what the role's own file says of a call: what a rule that denies it
// says, else the last rule that matches, else whether it asks about the tool.
func (t Tools) Of(call *loomv1.ToolCall, asks bool) loomv1.PermissionVerdict {
	rules := make([]*loomv1.Permission, len(t.Rules))
	for i, r := range t.Rules {
		rules[i] = r.Permission()
	}
	verdict, _ := permission.Of(rules, "", call, asks)
	return verdict
}

// MainTools are the tools that most turns begin with.
func MainTools() []string {
	return []string{"file_read", "file_edit", "shell", "delegate_task"}
}

// InFull reports whether a model is shown a tool with its whole schema.
func (t Tools) InFull(name string) bool {
	main := t.Main
	if len(main) == 0 {
		main = MainTools()
	}
	return slices.ContainsFunc(main, func(m string) bool {
		start, open := strings.CutSuffix(m, "*")
		return m == name || open && strings.HasPrefix(name, start)
	})
}

// All returns the tools that a role has, also those that it asks about.
func (t Tools) All() []string { return slices.Concat(t.Allow, t.Ask) }

// Limits bound one attempt of an agent. Where it says no default, zero means
// that the role sets no bound of its own.
type Limits struct {
	// Iterations of the model in a turn: 1 to 200, by default 25.
	Iterations int `yaml:"iterations"`
	// ToolTimeout of one tool call: 1 second to 1 hour, by default 60 seconds.
	ToolTimeout time.Duration `yaml:"tool_timeout"`
	// Tokens, prompts and answers together; no default.
	Tokens int64 `yaml:"tokens"`
	// MicroUSD is money in micro-dollars; no default.
	MicroUSD int64 `yaml:"micro_usd"`
	// Time from claim to outcome; no default.
	Time time.Duration `yaml:"time"`
}

// Context is how many tokens of a model's context each zone may have. What is
// left of the window is for the conversation.
type Context struct {
	// Window bounds all of it, below what the model itself takes. Zero means
	// no bound but the model's.
	Window int `yaml:"window"`
	// System is for the house's rules and the persona; the default is 2,048.
	System int `yaml:"system"`
	// Decisions is for what the decision graph has to say; the default is 1,024.
	Decisions int `yaml:"decisions"`
	// Memory is for what the project remembers; the default is 1,024.
	Memory int `yaml:"memory"`
	// Map is for the map of the repository; the default is 2,048.
	Map int `yaml:"map"`
	// Tools is for the tools' descriptions, which are shortened beyond it; the
	// default is 2,048.
	Tools int `yaml:"tools"`
	// Result bounds what is shown of one tool result; the default is 10,000, which
	// are 30,000 bytes.
	Result int `yaml:"result"`
	// Output is kept for an answer, and bounds it; the default is 4,096.
	Output int `yaml:"output"`
	// Summary says who summarises a conversation that does not fit any more: "model",
	// which is the default, asks the model where budgets leave room; "record" takes
	// all of it from the record.
	Summary string `yaml:"summary"`
}

// Who summarises a conversation.
const (
	SummaryByModel  = "model"
	SummaryOfRecord = "record"
)

// Restart allows Max crashes within Within, each followed by a pause that
// begins at Backoff and grows. The defaults are 5, 1 minute, 500 ms.
type Restart struct {
	Max     int           `yaml:"max"`
	Within  time.Duration `yaml:"within"`
	Backoff time.Duration `yaml:"backoff"`
}

// Set is a collection of roles that go together. It never changes.
type Set struct {
	names  []string          // sorted
	byName map[string]Role   // by name
	alias  map[string]string // alias to name
}

//go:embed *.yaml
var builtin embed.FS

// Builtin returns the roles that Loom comes with, always the same set.
func Builtin() *Set { return builtinSet() }

var builtinSet = lazy.Value(func() *Set {
	s, err := Load(&Set{}, builtin, ".")
	if err != nil {
		panic(err)
	}
	return s
})

// Get returns the role with that name or alias.
func (s *Set) Get(name string) (Role, bool) {
	if r, ok := s.byName[name]; ok {
		return r, true
	}
	r, ok := s.byName[s.alias[name]]
	return r, ok
}

// Names returns the names of all roles, without aliases, sorted.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Suggest returns the name or alias nearest to a name that is unknown, or "".
func (s *Set) Suggest(name string) string {
	known := s.Names()
	for _, n := range s.names {
		known = append(known, s.byName[n].Aliases...)
	}
	return suggest.Nearest(name, known)
}

// With returns a set with further roles. One that has the name of a role in s
// takes its place; it must be human exactly if that one is, because processes
// count on it. Two new roles of one name, and a name or alias that belongs to
// another role, are refused with role/duplicate. Roles are otherwise taken as
// [Parse] left them.
func (s *Set) With(more ...Role) (*Set, error) {
	added := make([]sourced, len(more))
	for i, r := range more {
		added[i] = sourced{role: r, at: func(...any) string { return "role " + r.Name }, added: true}
	}
	set, errs := s.with(added)
	return set, fault.Join(errs)
}

// Load returns base with the roles from the .yaml and .yml files of a
// directory, as [Set.With] does, and reports the problems of all files at
// once. A directory that does not exist adds nothing. Any other failure to
// read is an error with code role/invalid.
func Load(base *Set, dir fs.FS, name string) (*Set, error) {
	files, err := roleFiles(dir, name)
	if err != nil {
		return nil, fault.New("role/invalid", "the directory cannot be read").At(name).Because(err)
	}
	var added []sourced
	var errs []*fault.Error
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			errs = append(errs, fault.New("role/invalid", "the file cannot be read").At(file).Because(err))
			continue
		}
		r, bad := parse(file, data)
		errs = append(errs, bad...)
		if len(bad) == 0 {
			added = append(added, r)
		}
	}
	set, bad := base.with(added)
	if errs = append(errs, bad...); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return set, nil
}

// IsName reports whether a role could have that name.
func IsName(name string) bool { return idPattern.MatchString(name) }
