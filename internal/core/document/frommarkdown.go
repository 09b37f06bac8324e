package document

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	mdHeading = lazy.Compile(`^(#{1,6})\s+(.*?)\s*#*$`)
	mdNumber  = lazy.Compile(`^[0-9]+(\.[0-9]+)*[.)]?\s+`)
)

// FromMarkdown is the spec of a text that was written as Markdown, because no spec
// could be had: a heading with the title of one of the outline's sections begins that
// section, any other is a line in bold. A section that the text does not have says so
// in its place; missing are their ids.
func FromMarkdown(o *loomv1.PlanningOutline, text string) (spec *loomv1.DocumentSpec, missing []string) {
	plain := &loomv1.PlanningOutline{
		Version: o.Version, ArtifactType: "md", Title: o.Title, Purpose: o.Purpose, Tone: o.Tone, StyleProfile: o.StyleProfile,
		Language: o.Language, Constraints: o.Constraints,
	}
	for _, s := range o.Sections {
		plain.Sections = append(plain.Sections, &loomv1.OutlineSection{Id: s.Id, Title: s.Title, Goal: s.Goal, Level: s.Level})
	}
	spec, _ = Skeleton(plain).(*loomv1.DocumentSpec)
	spec.Metadata.OutlineHash = Hash(o)
	bodies := markdownBodies(o, text)
	for i, s := range o.Sections {
		x := spec.Sections[i]
		if x.Body = strings.TrimSpace(bodies[s.Id]); x.Body != "" {
			continue
		}
		missing = append(missing, s.Id)
		x.Callouts = []*loomv1.Callout{{Kind: "warning", Text: cut(MissingMark+goalText(s), 1000)}}
	}
	return spec, missing
}

// MissingMark begins what stands in the place of a section that was not written.
const MissingMark = "Missing: this section was not written. "

func goalText(s *loomv1.OutlineSection) string {
	if s.Goal == "" {
		return ""
	}
	return fmt.Sprintf("Planned: %s", strings.TrimSuffix(s.Goal, ".")+".")
}

// markdownBodies parts a text by the headings that are sections of an outline. What
// stands before the first goes with it.
func markdownBodies(o *loomv1.PlanningOutline, text string) map[string]string {
	byTitle := map[string]string{}
	for _, s := range o.Sections {
		byTitle[plainTitle(s.Title)] = s.Id
	}
	bodies, at, lead, fenced := map[string]string{}, "", "", false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		m := mdHeading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch id := ""; {
		case m == nil || fenced:
		case byTitle[plainTitle(m[2])] != "":
			id = byTitle[plainTitle(m[2])]
			bodies[id] = strings.TrimLeft(strings.TrimRight(bodies[id], "\n")+"\n\n"+lead, "\n")
			at, lead = id, ""
			continue
		case len(m[1]) == 1 && at == "":
			continue // the title
		default:
			line = "\n**" + m[2] + "**\n\n"
		}
		if at == "" {
			lead += line
		} else {
			bodies[at] += line
		}
	}
	return bodies
}

// plainTitle is a title as it is compared: without its number, marks and capitals.
func plainTitle(s string) string {
	s = mdNumber.ReplaceAllString(strings.Trim(strings.TrimSpace(s), "*_"), "")
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}
