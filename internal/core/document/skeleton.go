package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Skeleton is the spec that an outline asks for, with nothing written yet: a section,
// sheet or slide for each of the outline's, traceable to it. What is to be written is
// marked, so that a review finds what is left.
func Skeleton(o *loomv1.PlanningOutline) proto.Message {
	title := o.Title
	if title == "" {
		title = cut(o.Purpose, 300)
	}
	meta := &loomv1.SpecMetadata{Tone: o.Tone, StyleProfile: o.GetStyleProfile().GetBrand(), SourceOutlineVersion: o.Version, Language: o.Language, ReadingLevel: o.GetStyleProfile().GetReadingLevel(), OutlineHash: Hash(o)}
	if o.GetStyleProfile() != nil && o.StyleProfile.ReadabilityTarget != nil {
		meta.ReadabilityTarget = proto.Float64(*o.StyleProfile.ReadabilityTarget)
	}
	columns := columnsOf(o)
	todo := func(s *loomv1.OutlineSection) string {
		if s.Goal == "" {
			return "[PLACEHOLDER]"
		}
		return "[PLACEHOLDER] " + s.Goal
	}
	switch o.ArtifactType {
	case "xlsx":
		spec := &loomv1.SheetSpec{Version: "0.1", Title: title, Metadata: meta}
		for i, s := range o.Sections {
			spec.Sheets = append(spec.Sheets, &loomv1.SheetPage{Id: s.Id, OutlineId: s.Id, Name: tab(i, s.Title), Body: todo(s), Table: &loomv1.SpecTable{Caption: s.Title, Headers: columns[i]}})
		}
		return spec
	case "pptx":
		spec := &loomv1.PresentationSpec{Version: "0.1", Title: title, Metadata: meta}
		for _, s := range o.Sections {
			spec.Slides = append(spec.Slides, &loomv1.Slide{Id: s.Id, OutlineId: s.Id, Heading: s.Title, Bullets: []string{todo(s)}})
		}
		return spec
	}
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: title, Metadata: meta}
	for i, s := range o.Sections {
		x := &loomv1.DocumentSection{Id: s.Id, OutlineId: s.Id, Heading: s.Title, Level: s.Level}
		switch s.SectionType {
		case "table":
			x.Table = &loomv1.SpecTable{Caption: s.Title, Headers: columns[i]}
		case "list":
			x.Bullets = []string{todo(s)}
		default:
			x.Body = todo(s)
		}
		spec.Sections = append(spec.Sections, x)
	}
	library := DefaultClauses()
	for _, name := range o.GetConstraints().GetIncludeClauses() {
		if c, ok := library.Find(name); ok {
			spec.Clauses = append(spec.Clauses, &loomv1.Clause{Name: name, Text: c.Text})
		}
	}
	return spec
}

// columnsOf are the columns of each section that has a table: those of the data that is
// needed under the section's name, or under one of which the one is a part of the other.
// What is needed under no section's name goes, in order, to the tables that are left, where
// there are as many.
func columnsOf(o *loomv1.PlanningOutline) [][]string {
	out := make([][]string, len(o.Sections))
	needs := slices.DeleteFunc(slices.Clone(o.DataNeeds), func(d *loomv1.DataNeed) bool { return d.Kind != "table" || len(d.Columns) == 0 })
	var open []int
	for i, s := range o.Sections {
		if o.ArtifactType == "xlsx" || s.SectionType == "table" {
			open = append(open, i)
		}
	}
	for _, alike := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool {
			return a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a))
		},
	} {
		open = slices.DeleteFunc(open, func(i int) bool {
			j := slices.IndexFunc(needs, func(d *loomv1.DataNeed) bool {
				return alike(bare(d.Name), bare(o.Sections[i].Title)) || alike(bare(d.Name), bare(o.Sections[i].Id))
			})
			if j < 0 {
				return false
			}
			out[i] = needs[j].Columns
			needs = slices.Delete(needs, j, j+1)
			return true
		})
	}
	for n, i := range open {
		if out[i] = []string{"Item", "Value"}; len(needs) == len(open) {
			out[i] = needs[n].Columns
		}
	}
	return out
}

// bare is a name without capitals and what parts its words.
func bare(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

var notInTab = lazy.Compile(`[:\\/?*\[\]']`)

// tab is a sheet's name of a title: each other one, because they are numbered.
func tab(i int, title string) string {
	r := []rune(strings.TrimSpace(notInTab.ReplaceAllString(title, " ")))
	number := fmt.Sprintf("%d ", i+1)
	return strings.TrimSpace(number + string(r[:min(len(r), 31-len(number))]))
}
