package document

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Rule is a check with its parameters, as a file of rules has it.
type Rule struct {
	ID       string `yaml:"id" loom:"required"`
	Check    string `yaml:"check" loom:"required"`
	Severity string `yaml:"severity" loom:"required"`
	// Area is the part of the report that the findings go into; absent: the check's own.
	Area string `yaml:"area"`
	// What the bounds mean depends on the check; absent ones do not bound.
	Max *float64 `yaml:"max"`
	Min *float64 `yaml:"min"`
	// Targets are by reading level.
	Targets map[string]float64 `yaml:"targets"`
	Words   []string           `yaml:"words"`
	// Phrases are what not to write, and what to write instead; "" for nothing known.
	Phrases map[string]string `yaml:"phrases"`
}

// RuleSet is what documents are held against.
type RuleSet struct {
	Name    string `yaml:"name" loom:"required"`
	Version string `yaml:"version" loom:"required"`
	// Language is what the rules about words are for: the first part of a BCP 47 tag.
	Language string `yaml:"language" loom:"required"`
	Rules    []Rule `yaml:"rules" loom:"required"`
}

//go:embed rules/*.yaml clauses/*.yaml templates
var files embed.FS

// DefaultRules are the rules that come with Loom.
func DefaultRules() *RuleSet {
	set, err := ParseRules("rules/default.yaml", builtin("rules/default.yaml"))
	if err != nil {
		panic(fmt.Sprintf("document: the default rules: %v", err))
	}
	return set
}

func builtin(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("document: %v", err))
	}
	return data
}

// ParseRules reads a file of rules: all that is wrong with it at once, each at
// FILE:LINE:COL, as yaml/... or document/rule.
func ParseRules(file string, data []byte) (*RuleSet, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	set := &RuleSet{}
	doc.Decode(set)
	seen := map[string]bool{}
	for i, r := range set.Rules {
		if doc.Broken("rules", i) {
			continue
		}
		wrong := func(key, format string, args ...any) told {
			e := fault.New("document/rule", format, args...)
			doc.Add(e, "rules", i, key)
			return told{e}
		}
		if seen[r.ID] {
			wrong("id", "there are two rules of this name").Got(r.ID)
		}
		seen[r.ID] = true
		if _, ok := checks[r.Check]; !ok {
			wrong("check", "there is no such check").Got(r.Check).Want("%s", suggest.Among(r.Check, Checks()))
		}
		if !slices.Contains(severities, r.Severity) || r.Severity == "ok" {
			wrong("severity", "a severity is info, warn or error").Got(r.Severity)
		}
		if r.Area != "" && !slices.Contains(areas, r.Area) {
			wrong("area", "there is no such part of a report").Got(r.Area).Want("%s", suggest.Among(r.Area, areas))
		}
		for phrase := range r.Phrases {
			if strings.TrimSpace(phrase) == "" {
				wrong("phrases", "a phrase is empty")
			}
		}
	}
	return set, doc.Err()
}

// areas are the parts of a report.
var areas = []string{"structure", "readability", "consistency", "style", "tables", "references"}

// severities rise.
var severities = []string{"ok", "info", "warn", "error"}

// Checks returns the names of all checks.
func Checks() []string { return slices.Sorted(maps.Keys(checks)) }

// ApprovedClause is legal text that documents may have.
type ApprovedClause struct {
	Name   string `yaml:"name" loom:"required"`
	Title  string `yaml:"title" loom:"required"`
	Domain string `yaml:"domain" loom:"required"`
	Text   string `yaml:"text" loom:"required"`
}

// ClauseLibrary is the approved clauses.
type ClauseLibrary struct {
	Name    string           `yaml:"name" loom:"required"`
	Version string           `yaml:"version" loom:"required"`
	Clauses []ApprovedClause `yaml:"clauses" loom:"required"`
}

// DefaultClauses are the clauses that come with Loom.
func DefaultClauses() *ClauseLibrary {
	l, err := ParseClauses("clauses/default.yaml", builtin("clauses/default.yaml"))
	if err != nil {
		panic(fmt.Sprintf("document: the default clauses: %v", err))
	}
	return l
}

// ParseClauses reads a library of clauses, as ParseRules reads rules.
func ParseClauses(file string, data []byte) (*ClauseLibrary, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	l := &ClauseLibrary{}
	doc.Decode(l)
	seen := map[string]bool{}
	for i, c := range l.Clauses {
		if seen[c.Name] {
			doc.Add(fault.New("document/rule", "there are two clauses of this name").Got(c.Name), "clauses", i, "name")
		}
		seen[c.Name] = true
	}
	return l, doc.Err()
}

// Names returns the names of the clauses, in the library's order.
func (l *ClauseLibrary) Names() (names []string) {
	for _, c := range l.Clauses {
		names = append(names, c.Name)
	}
	return names
}

// Find returns an approved clause, and whether there is one.
func (l *ClauseLibrary) Find(name string) (ApprovedClause, bool) {
	i := slices.IndexFunc(l.Clauses, func(c ApprovedClause) bool { return c.Name == name })
	if i < 0 {
		return ApprovedClause{}, false
	}
	return l.Clauses[i], true
}

var open = lazy.Compile(`\{([a-z][a-z0-9_]*)\}`)

// Fill is the clause's text with its open places filled, and the names of those that
// have no value.
func (c ApprovedClause) Fill(parameters map[string]string) (text string, missing []string) {
	text = open.ReplaceAllStringFunc(c.Text, func(place string) string {
		name := strings.Trim(place, "{}")
		value, ok := parameters[name]
		if !ok || strings.TrimSpace(value) == "" {
			missing = append(missing, name)
			return place
		}
		return value
	})
	return text, missing
}

// approved says whether a clause of a spec has the library's words.
func (l *ClauseLibrary) approved(c *loomv1.Clause) (want string, ok bool, why string) {
	a, there := l.Find(c.Name)
	if !there {
		why = fmt.Sprintf("the clause %q is not in the library %q", c.Name, l.Name)
		if hint := suggest.Among(c.Name, l.Names()); hint != "" {
			why += "; " + hint
		}
		return "", false, why
	}
	want, missing := a.Fill(c.Parameters)
	switch {
	case len(missing) > 0:
		return "", false, fmt.Sprintf("the clause %q lacks a value for %s", c.Name, strings.Join(missing, ", "))
	case strings.Join(strings.Fields(c.Text), " ") != strings.Join(strings.Fields(want), " "):
		return want, false, fmt.Sprintf("the clause %q has other words than the library's", c.Name)
	}
	return want, true, ""
}
