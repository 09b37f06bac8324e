// Package document is what documents are made of before they are files: the outline,
// the spec (of a text, a workbook or a deck), the review, the patches and the record.
//
// It promises that JSON which it takes has no key, type or word that the contract
// does not know, and that everything wrong with it is told at once, each by its path
// ([Read]); that equal artifacts have equal bytes and hashes ([Canonical], [Hash]);
// that a patch is carried out whole or not at all ([Apply]); and that a review
// depends on the spec and the rules alone ([Review]).
//
// What a field takes is said where it is declared (proto/loom/v1/document.proto);
// checks and JSON Schemas are made from there.
package document

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The limits of what is read.
const (
	MaxBytes    = 16 << 20
	MaxDepth    = 32
	MaxSections = 50   // sections, sheets or slides, as the contract has it
	MaxRows     = 2000 // of a table, as the contract has it
)

// Kind is one of the artifacts.
type Kind struct {
	// Name is how people call it: "document".
	Name string
	// Marks are keys at the top that no other kind has.
	Marks []string
	// Spec says that files are made from it.
	Spec bool
	zero proto.Message
}

// kinds has document last: it is what has none of the others' marks.
var kinds = []Kind{
	{Name: "outline", Marks: []string{"artifactType", "dataNeeds", "templateSuggestion"}, zero: (*loomv1.PlanningOutline)(nil)},
	{Name: "sheet", Marks: []string{"sheets"}, Spec: true, zero: (*loomv1.SheetSpec)(nil)},
	{Name: "presentation", Marks: []string{"slides"}, Spec: true, zero: (*loomv1.PresentationSpec)(nil)},
	{Name: "review", Marks: []string{"checks", "recommendedPatches", "blockCommit"}, zero: (*loomv1.ReviewReport)(nil)},
	{Name: "patches", Marks: []string{"patches"}, zero: (*loomv1.PatchSet)(nil)},
	{Name: "record", Marks: []string{"artifactId"}, zero: (*loomv1.ArtifactRecord)(nil)},
	{Name: "document", Spec: true, zero: (*loomv1.DocumentSpec)(nil)},
}

// Kinds returns the names of the artifacts.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// KindNamed finds a kind; usage/argument with the known ones.
func KindNamed(name string) (Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fault.New("usage/argument", "there is no such artifact").Got(name).Want("%s", suggest.Among(name, Kinds()))
}

// KindOf is the kind of a message.
func KindOf(m proto.Message) Kind {
	name := m.ProtoReflect().Descriptor().FullName()
	for _, k := range kinds {
		if k.zero.ProtoReflect().Descriptor().FullName() == name {
			return k
		}
	}
	panic("document: no artifact: " + string(name))
}

// guess recognises a kind by the keys that only it has.
func guess(tree any) Kind {
	object, _ := tree.(map[string]any)
	for _, k := range kinds {
		if slices.ContainsFunc(k.Marks, func(key string) bool { _, there := object[key]; return there }) {
			return k
		}
	}
	return kinds[len(kinds)-1]
}

// Minimal is the outline when none could be planned: one section for each line of
// the goal that is a heading or a list's item, else one that carries the whole goal.
func Minimal(artifactType, goal string) *loomv1.PlanningOutline {
	goal = strings.TrimSpace(strings.ToValidUTF8(goal, "\uFFFD"))
	o := &loomv1.PlanningOutline{Version: "0.1", ArtifactType: artifactType, Purpose: cut(goal, 4000)}
	if o.Purpose == "" {
		o.Purpose = "Not stated"
	}
	first, _, _ := strings.Cut(o.Purpose, "\n")
	o.Title = cutAtWord(strings.TrimSpace(strings.TrimLeft(first, "#*- ")), 120)
	if o.Title == "" {
		o.Title = "Untitled"
	}
	needed := true
	add := func(title, goal string) {
		if title = cut(title, 300); title != "" && len(o.Sections) < MaxSections {
			o.Sections = append(o.Sections, &loomv1.OutlineSection{Id: sectionID(len(o.Sections)), Title: title, Goal: cut(goal, 2000), SectionType: "narrative", Required: &needed})
		}
	}
	for line := range strings.Lines(goal) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"## ", "- ", "* "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				add(strings.TrimSpace(rest), rest)
			}
		}
	}
	if len(o.Sections) == 0 {
		add(o.Title, goal)
	}
	return o
}

// cut shortens a text to n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return strings.TrimSpace(s[:n])
}

// cutAtWord is cut for a text that people read: it ends with a whole word, if that leaves
// half of it.
func cutAtWord(s string, n int) string {
	short := cut(s, n)
	if at := strings.LastIndexAny(short, " \t"); len(short) < len(strings.TrimSpace(s)) && s[len(short)] != ' ' && at > n/2 {
		return strings.TrimRight(short[:at], " ,;:-")
	}
	return short
}
