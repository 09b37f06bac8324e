package patchscan

import (
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Kind says what a finding is about.
type Kind string

// The kinds of findings.
const (
	Secret      Kind = "secret"       // a key in the form of a known issuer, or a secret of the host
	Conflict    Kind = "conflict"     // marks that git puts where two changes meet
	MaybeSecret Kind = "maybe-secret" // text that a variable's name and its entropy make look like a key
	LinkOutside Kind = "link-outside" // a symbolic link that leaves the repository
	Link        Kind = "link"         // any other symbolic link
	Submodule   Kind = "submodule"    // a submodule, or .gitmodules
	Attributes  Kind = "attributes"   // .gitattributes that name a program or hide text from diffs
	CI          Kind = "ci"           // what a build service runs by itself
	Hooks       Kind = "hooks"        // what runs by itself on the machines of those who commit or install
	Agents      Kind = "agents"       // what steers agents and this host: loom.toml, roles, processes
	Large       Kind = "large"        // a file of more than 1 MiB
	Binary      Kind = "binary"       // a file whose content no diff shows
	Executable  Kind = "executable"   // a file that becomes executable
	Lock        Kind = "lock"         // a lock file of dependencies
	Tests       Kind = "tests"        // tests that were removed or are skipped
	Unexamined  Kind = "unexamined"   // text beyond the bounds of the examination
)

// The levels, by their short names.
const (
	Allow  = loomv1.PatchAction_PATCH_ACTION_ALLOW
	Warn   = loomv1.PatchAction_PATCH_ACTION_WARN
	Gate   = loomv1.PatchAction_PATCH_ACTION_GATE
	Refuse = loomv1.PatchAction_PATCH_ACTION_REFUSE
)

// kinds are all kinds, in the order in which findings of one line are listed,
// and what becomes of them where nothing else is said.
var kinds = []struct {
	kind Kind
	does loomv1.PatchAction
}{
	{Secret, Refuse},
	{LinkOutside, Refuse},
	{Conflict, Refuse},
	{MaybeSecret, Warn},
	{Link, Warn},
	{Submodule, Gate},
	{Attributes, Gate},
	{CI, Gate},
	{Hooks, Gate},
	{Agents, Gate},
	{Large, Warn},
	{Binary, Warn},
	{Executable, Warn},
	{Lock, Warn},
	{Tests, Warn},
	{Unexamined, Warn},
}

var levels = map[string]loomv1.PatchAction{"allow": Allow, "warn": Warn, "gate": Gate, "refuse": Refuse}

// levelNames are the words for levels, from the weakest.
var levelNames = []string{"allow", "warn", "gate", "refuse"}

// Level returns the word for what becomes of a finding.
func Level(a loomv1.PatchAction) string {
	for word, action := range levels {
		if action == a {
			return word
		}
	}
	return "unspecified"
}

// Kinds lists all kinds with the levels that hold where a project says nothing.
func Kinds() (names []Kind, defaults map[Kind]loomv1.PatchAction) {
	defaults = map[Kind]loomv1.PatchAction{}
	for _, k := range kinds {
		names = append(names, k.kind)
		defaults[k.kind] = k.does
	}
	return names, defaults
}

// Policy says what becomes of findings, by kind. What it does not name has its
// default, so that nil is the default policy.
type Policy map[string]loomv1.PatchAction

// Of returns what becomes of findings of a kind.
func (p Policy) Of(k Kind) loomv1.PatchAction {
	if a := p[string(k)]; a != loomv1.PatchAction_PATCH_ACTION_UNSPECIFIED {
		return a
	}
	for _, d := range kinds {
		if d.kind == k {
			return d.does
		}
	}
	return Warn
}

// ParsePolicy reads settings of the form KIND=LEVEL; a later one replaces an
// earlier one of the same kind. It returns nil for none.
func ParsePolicy(settings []string) (Policy, error) {
	var p Policy
	for _, s := range settings {
		kind, level, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fault.New("config/value", "not KIND=LEVEL").Got(s).Want("as in large=refuse")
		}
		if names := kindNames(); !slices.Contains(names, kind) {
			return nil, fault.New("config/value", "nothing of this kind is looked for in a change").Got(kind).Want("%s", suggest.Among(kind, names))
		}
		if levels[level] == 0 {
			return nil, fault.New("config/value", "not a level").Got(level).Want("%s", strings.Join(levelNames, ", "))
		}
		if p == nil {
			p = Policy{}
		}
		p[kind] = levels[level]
	}
	return p, p.Check()
}

// Check refuses a policy that names what there is not.
func (p Policy) Check() error {
	for _, kind := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(kindNames(), kind) {
			return fault.New("project/invalid", "nothing of kind %q is looked for in a change", kind).At("patch").Want("%s", suggest.Among(kind, kindNames()))
		}
		if Level(p[kind]) == "unspecified" {
			return fault.New("project/invalid", "the level %d of %q is none", p[kind], kind).At("patch")
		}
	}
	return nil
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k.kind)
	}
	return names
}
