package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// checks are all validators, by the name that rules give.
var checks map[string]check

func init() {
	checks = map[string]check{
		"heading-jump":    {area: "structure", run: (*validation).headingJump},
		"empty-section":   {area: "structure", run: (*validation).emptySection},
		"missing-caption": {area: "structure", run: (*validation).missingCaption},
		"missing-alt":     {area: "structure", run: (*validation).missingAlt},
		"heading-number":  {area: "structure", run: (*validation).headingNumber},
		"figure-place":    {area: "structure", run: (*validation).figurePlace},
		"outline":         {area: "structure", run: (*validation).outlineKept},
		"slide-length":    {area: "structure", run: (*validation).slideLength},
		"markup":          {area: "structure", run: (*validation).markup},

		"flesch":          {area: "readability", words: true, run: (*validation).flesch},
		"sentence-length": {area: "readability", words: true, run: (*validation).sentenceLength},
		"long-sentence":   {area: "readability", words: true, run: (*validation).longSentence},
		"passive":         {area: "readability", words: true, run: (*validation).passive},
		"jargon":          {area: "readability", words: true, run: (*validation).jargon},

		"duplicate-heading": {area: "consistency", run: (*validation).duplicateHeading},
		"entity-spelling":   {area: "consistency", run: (*validation).entitySpelling},
		"heading-form":      {area: "consistency", words: true, run: (*validation).headingForm},

		"phrase":       {area: "style", words: true, run: (*validation).phrase},
		"fonts":        {area: "style", run: (*validation).fonts},
		"contrast":     {area: "style", run: (*validation).contrast},
		"heading-case": {area: "style", words: true, run: (*validation).headingCase},
		"unwritten":    {area: "style", run: (*validation).unwritten},
		"units":        {area: "style", run: (*validation).units},

		"totals":         {area: "tables", run: (*validation).totals},
		"total-row":      {area: "tables", run: (*validation).totalRow},
		"number-as-text": {area: "tables", run: (*validation).numberAsText},
		"percent-sum":    {area: "tables", run: (*validation).percentSum},
		"date-range":     {area: "tables", run: (*validation).dateRange},
		"duration":       {area: "tables", run: (*validation).duration},
		"same-figure":    {area: "tables", run: (*validation).sameFigure},

		"missing-target": {area: "references", run: (*validation).missingTarget},
		"caption-cited":  {area: "references", run: (*validation).captionCited},
		"link":           {area: "references", run: (*validation).link},
		"citation":       {area: "references", run: (*validation).citation},
		"footnote":       {area: "references", run: (*validation).footnote},
		"clause":         {area: "references", run: (*validation).clause},
	}
}

// headingJump: a heading is at most max levels below the one before; the first has
// level 1.
func (v *validation) headingJump() {
	last := 0
	for _, p := range v.parts {
		if p.jumps > 0 {
			id := ""
			if _, ok := v.spec.(*loomv1.DocumentSpec); ok {
				id = v.patch(p.path+".level", "replace", float64(p.level))
			}
			v.found(p.headingPath, id, "the heading %q has level %d after level %d", p.heading, p.jumps, last)
		}
		last = p.level
	}
}

// emptySection: something stands below a heading, or a heading of a lower level does.
func (v *validation) emptySection() {
	figured := map[string]bool{}
	for _, f := range figuresOf(v.spec) {
		figured[f.Section] = true
	}
	for i, p := range v.parts {
		chapter := i+1 < len(v.parts) && v.parts[i+1].level > p.level
		if !p.full && !figured[p.id] && !chapter {
			v.found(p.path, "", "nothing stands below the heading %q", p.heading)
		}
	}
}

func (v *validation) missingCaption() {
	missing := func(path, what string) {
		*v.report.Checks.Tables.MissingCaptions++
		v.found(path, "", "the %s has no caption", what)
	}
	_, workbook := v.spec.(*loomv1.SheetSpec)
	for _, p := range v.parts {
		if p.table != nil && strings.TrimSpace(p.table.Caption) == "" && !workbook && !p.slide {
			missing(p.path+".table", "table")
		}
	}
	for i, f := range figuresOf(v.spec) {
		if strings.TrimSpace(f.Caption) == "" {
			missing(fmt.Sprintf("figures[%d]", i), "figure")
		}
	}
}

func (v *validation) missingAlt() {
	for i, f := range figuresOf(v.spec) {
		if strings.TrimSpace(f.Alt) == "" {
			v.found(fmt.Sprintf("figures[%d]", i), "", "the figure %q has no text for those who do not see it", f.Id)
		}
	}
}

var numbered = lazy.Compile(`^(\d+(?:\.\d+)*)[.)]?\s+(.*)$`)

// headingNumber: numbers are the program's, which then are right; written ones are
// wrong as soon as a section moves.
func (v *validation) headingNumber() {
	if _, workbook := v.spec.(*loomv1.SheetSpec); workbook {
		return
	}
	given, count := 0, make([]int, 7)
	for _, p := range v.parts {
		level := min(p.level, 6)
		count[level]++
		clear(count[level+1:])
		m := numbered.FindStringSubmatch(p.heading)
		if m == nil || len(m[1]) > 3 && !strings.Contains(m[1], ".") || strings.TrimSpace(m[2]) == "" {
			continue // none, or a year
		}
		given++
		var right []string
		for _, n := range count[1 : level+1] {
			right = append(right, strconv.Itoa(n))
		}
		switch {
		case stylesOf(v.spec).GetNumberHeadings():
			id := v.rewrite(p.headingPath, p.heading, func(s string) string { return numbered.ReplaceAllString(s, "$2") })
			v.found(p.headingPath, id, "the heading %q has a number of its own beside the style's", p.heading)
		case m[1] != strings.Join(right, "."):
			v.found(p.headingPath, "", "the heading %q is number %s", p.heading, strings.Join(right, "."))
		}
	}
	if given > 0 && given < len(v.parts) {
		v.found("", "", "%d of %d headings have numbers", given, len(v.parts))
	}
}

func (v *validation) figurePlace() {
	var ids []string
	for _, p := range v.parts {
		ids = append(ids, p.id)
	}
	for i, f := range figuresOf(v.spec) {
		if !slices.Contains(ids, f.Section) {
			v.found(fmt.Sprintf("figures[%d].section", i), "", "the figure %q stands in no section: there is no %q", f.Id, f.Section)
		}
	}
}

// outlineKept: what was planned as required is there, and what was to be left out is
// not.
func (v *validation) outlineKept() {
	o := v.Outline
	if o == nil {
		return
	}
	_, missing := Trace(o, v.spec)
	for _, s := range o.Sections {
		if s.GetRequired() && slices.Contains(missing, s.Id) {
			v.found("", "", "the required section %q (%s) of the outline is missing", s.Id, s.Title)
		}
	}
	planned := map[string]bool{}
	for _, s := range o.Sections {
		planned[s.Id] = true
	}
	links, _ := Trace(o, v.spec)
	for i, l := range links {
		if !planned[l.Outline] {
			v.found(l.Path, "", "the section %q carries out nothing of the outline", v.parts[i].id)
		}
	}
	for _, phrase := range o.GetConstraints().GetExclude() {
		for _, p := range v.parts {
			for _, t := range p.texts {
				if strings.Contains(strings.ToLower(t.text), strings.ToLower(phrase)) {
					v.found(t.path, "", "the text has %q, which the outline excludes", phrase)
				}
			}
		}
	}
	if d, ok := v.spec.(*loomv1.DocumentSpec); ok {
		for _, name := range o.GetConstraints().GetIncludeClauses() {
			if !slices.ContainsFunc(d.Clauses, func(c *loomv1.Clause) bool { return c.Name == name }) {
				v.found("clauses", "", "the clause %q, which the outline wants, is missing", name)
			}
		}
	}
}

// slideLength: a slide that is read out is no slide.
func (v *validation) slideLength() {
	for _, p := range v.parts {
		if !p.slide {
			continue
		}
		words := 0
		for _, t := range p.texts {
			words += len(wordsOf(t.text))
		}
		if most := int(bound(v.rule.Max, 90)); words > most {
			v.found(p.path, "", "the slide %q has %d words; at most %d can be read at a glance", p.heading, words, most)
		}
	}
}
