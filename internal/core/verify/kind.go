package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Kind is a type of rules: what one tests, what it is told, and how it looks. The table
// of kinds is the only place that says so: validation, prompts and documents read it.
type Kind struct {
	Name string
	Type loomv1.RuleType
	// About is what it tests, as a sentence without its end.
	About string
	// Check is what the key check holds; empty for none. Spare says that it may be left out.
	Check string
	Spare bool
	// Params are the keys of with.
	Params []Param
	// Files are the kinds of files that it looks into, of which its target names one; empty
	// for all that can be looked into.
	Files []string
	// Output says that it can be aimed at what the agent said.
	Output bool
	// Example is a rule, as YAML.
	Example string

	sound func(*loomv1.Rule) []RuleFault
	look  func(*look, *content) // nil for what needs judgment
}

// Param is a key of a rule's with.
type Param struct {
	Name string
	// Form is one of number, share (a number from 0), count, text, texts, truth, day and
	// schema.
	Form     string
	About    string
	Required bool
}

var (
	tables   = []string{"csv", "tsv", "xlsx", "md", "html", "docx", "pptx"}
	outlined = []string{"md", "html", "docx", "pptx"}
	places   = Param{"tolerance", "share", "the share by which they may differ; 0.001", false}
	figured  = Param{"figure", "text", "the name of a column or row, or the words before the number in a text", true}
)

var kinds = slices.Concat([]Kind{
	{
		Name: "regex", Type: regex, Output: true, look: (*look).pattern, sound: patternSound,
		About:   "no line matches a pattern (RE2), or one does where `expect` is `present`",
		Check:   "the pattern",
		Example: `{name: priced, type: regex, check: '[$€] ?\d', expect: present, target: offer.md}`,
	},
	{
		Name: "llm", Type: loomv1.RuleType_RULE_TYPE_LLM, Output: true,
		About:   "the verifier finds a sentence to be so, with evidence",
		Check:   "the sentence",
		Example: `{name: like-with-like, check: Prices are compared for one period., severity: error}`,
	},
	{
		Name: "table", Type: table, Files: tables, look: (*look).table, sound: tableSound,
		About: "a table is there that has the columns, and an expression (CEL over `row`) holds for each of its rows",
		Check: "the expression", Spare: true,
		Params: []Param{
			{"columns", "texts", "columns that one table has, all of them", false},
			{"rows", "count", "how many rows it has at least", false},
		},
		Example: `{name: matrix, type: table, with: {columns: [name, price], rows: 3}, target: report.md}`,
	},
}, figureKinds, textKinds, sourceKinds)

// Kinds returns the types of rules, in the order in which they are documented.
func Kinds() []Kind { return slices.Clone(kinds) }

// kindOfRule is the kind of a rule; one without a type is judged.
func kindOfRule(r *loomv1.Rule) *Kind {
	t := r.GetType()
	if t == loomv1.RuleType_RULE_TYPE_UNSPECIFIED {
		t = loomv1.RuleType_RULE_TYPE_LLM
	}
	for i := range kinds {
		if kinds[i].Type == t {
			return &kinds[i]
		}
	}
	return nil
}

// RuleFault is something that keeps a rule from being checked: At leads to the key that is
// wrong, in the rule.
type RuleFault struct {
	At  []any
	Err *fault.Error
}

func wrongAt(err *fault.Error, at ...any) RuleFault { return RuleFault{at, err} }

func ruleError(format string, args ...any) *fault.Error {
	return fault.New("process/rule", format, args...)
}

// CheckRule returns all that keeps a rule from being checked, as process/rule, or nil.
func CheckRule(r *loomv1.Rule) error {
	var list []*fault.Error
	for _, f := range RuleFaults(r) {
		list = append(list, f.Err)
	}
	return fault.Join(list)
}

// RuleFaults says what keeps a rule from being checked: what its type does not take, and
// what it lacks.
func RuleFaults(r *loomv1.Rule) (list []RuleFault) {
	k := kindOfRule(r)
	if k == nil {
		return nil // which is said of its type
	}
	blank := strings.TrimSpace(r.Check) == ""
	switch {
	case k.Check == "" && r.Check != "":
		list = append(list, wrongAt(ruleError("a rule of type %s has no check", k.Name).Want("%s", k.takes()), "check"))
	case k.Check != "" && !k.Spare && blank:
		return append(list, wrongAt(ruleError("rule %q checks nothing", r.Name), "check"))
	}
	list = append(list, k.paramFaults(r)...)
	if f := k.targetFault(r); f != nil {
		list = append(list, wrongAt(f, "target"))
	}
	if k.sound != nil && len(list) == 0 {
		list = k.sound(r)
	}
	return list
}

// takes says what a rule of the kind is told.
func (k *Kind) takes() string {
	if len(k.Params) == 0 {
		return "it is told nothing more"
	}
	return "it is told " + strings.Join(k.paramNames(), ", ") + " under with"
}

func (k *Kind) paramNames() (names []string) {
	for _, p := range k.Params {
		names = append(names, p.Name)
	}
	return names
}

func (k *Kind) targetFault(r *loomv1.Rule) *fault.Error {
	if _, err := path.Match(r.Target, ""); err != nil {
		return ruleError("the target is no glob").Got(r.Target)
	}
	switch {
	case r.Target == InOutput && !k.Output:
		return ruleError("a %s rule looks at files, and not at what is said", k.Name).Got(r.Target)
	case len(k.Files) > 0 && !slices.Contains(k.Files, kindOf(r.Target)):
		last := len(k.Files) - 1
		return ruleError("a %s rule looks at files of type %s or %s, which its target does not name", k.Name, strings.Join(k.Files[:last], ", "), k.Files[last]).
			Got(r.Target).Want("name one, or a glob such as *.%s, as its target", k.Files[0])
	}
	return nil
}

func patternSound(r *loomv1.Rule) []RuleFault {
	if _, err := pattern(r.Check); err != nil {
		return []RuleFault{wrongAt(fault.From(err), "check")}
	}
	return nil
}

func tableSound(r *loomv1.Rule) []RuleFault {
	if strings.TrimSpace(r.Check) == "" {
		if len(r.With.GetFields()) == 0 {
			return []RuleFault{wrongAt(ruleError("rule %q checks nothing", r.Name).Want("give it columns or rows under with, or an expression as check"), "check")}
		}
		return nil
	}
	if _, err := condition.CompileRow(r.Check); err != nil {
		return []RuleFault{wrongAt(ruleError("%s", fault.From(err).Message).Got(r.Check), "check")}
	}
	return nil
}

// paramFaults says which keys of with are not taken, not what they should be, or missing.
func (k *Kind) paramFaults(r *loomv1.Rule) (list []RuleFault) {
	given := r.With.GetFields()
	for _, key := range sortedKeys(given) {
		i := slices.IndexFunc(k.Params, func(p Param) bool { return p.Name == key })
		switch {
		case len(k.Params) == 0:
			list = append(list, wrongAt(ruleError("a rule of type %s takes nothing under with", k.Name).Got(key), "with", key))
		case i < 0:
			list = append(list, wrongAt(ruleError("a rule of type %s takes no such key", k.Name).Got(key).Want("%s", suggest.Among(key, k.paramNames())), "with", key))
		default:
			if why, hint := k.Params[i].unfit(given[key].AsInterface()); why != "" {
				list = append(list, wrongAt(ruleError("%s %s", key, why).Got(fmt.Sprint(given[key].AsInterface())).Want("%s", hint), "with", key))
			}
		}
	}
	for _, p := range k.Params {
		if _, ok := given[p.Name]; p.Required && !ok {
			list = append(list, wrongAt(ruleError("a rule of type %s lacks %s: %s", k.Name, p.Name, p.About), "with"))
		}
	}
	return list
}
