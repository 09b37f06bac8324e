package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// pattern is an artifact of the stage that fits.
func (p *paper) pattern() string {
	switch p.stage {
	case planning:
		return string(document.JSON(p.minimal()))
	case rendering:
		if t := p.own.template; t != nil {
			return string(t.Begin(p.own.given))
		}
		o := p.outline()
		if o == nil {
			o = p.minimal()
		}
		return string(document.JSON(document.Skeleton(o)))
	}
	return reviewPattern
}

// specForm is what the schema of a spec does not tell of how it is written.
const specForm = "How it is written: a body is paragraphs in Markdown with an empty line between them (emphasis, code, links, lists, quotes), never with a heading or a table: " +
	"those are a section of its own, with its level, and the section's table. A section's parts stand in the order body, bullets, steps, table, figures, callouts. " +
	"\"Table 1\" and \"Figure 2\" in a text are references; captions have no number. [1] cites the first of sources; [^id] names one of footnotes. " +
	"The last row of figures belongs into totals, by the header of its column. Pictures are files of the workspace.\n"

const reviewPattern = `{"specVersion": "0.2", "checks": {"structure": {"ok": true}}, "severity": "warn",
 "findings": [{"rule": "model/argument", "path": "sections[1].body", "severity": "warn", "message": "the reason is missing", "patch": "p1"}],
 "recommendedPatches": [{"id": "p1", "target": "sections[1].body", "action": "append", "value": "Because ..."}], "blockCommit": false}`

// paperText is what a model is told of the document that it works on.
func (j *job) paperText() string {
	if j.paper == nil || len(j.paper.kinds()) == 0 {
		return ""
	}
	p := j.paper
	var b prompt
	b.WriteByte('\n')
	b.section("The document")
	fmt.Fprintf(&b, "It becomes %s. Write your artifact with %s, kind %s: it goes to its file by itself, and what is wrong with it is told at the call. You have no other way to write it; what your role says of CSV and Markdown files is for other work.\n",
		p.files.File, artifactWrite, strings.Join(p.kinds()[:1], " or "))
	switch p.stage {
	case planning:
		fmt.Fprintf(&b, "artifactType is %q. At most %d sections; give each an id, a title and a goal.\n", p.format, document.MaxSections)
		if p.brief.Attempt.Number > 1 {
			b.WriteString("An earlier attempt brought no outline. Plan it simpler: at most five sections with id, title and goal, and no constraints, data needs or template.\n")
		}
		b.template(p)
	case rendering:
		fmt.Fprintf(&b, "Carry out %s: each section names in outlineId the outline's section that it is about. Then mend what the review finds with kind patches.\n", p.files.Outline)
		b.WriteString("A long document need not be written in one call: write its first sections, and append the others with patches, {\"target\": \"sections\", \"action\": \"append\", \"value\": {...}}.\n")
		b.WriteString(specForm)
		b.template(p)
		if len(p.theirs.patches) > 0 {
			fmt.Fprintf(&b, "A person left patches in %s. The runtime carries them out before the review; do not do so yourself, and keep the sections that they name.\n", p.files.Patches)
		}
		if p.base != nil {
			fmt.Fprintf(&b, "There is a spec already, %s: where little has to change, send patches.\n", p.files.Spec)
		}
	case reviewing:
		b.reviewed(p)
	}
	if kind := p.kinds()[0]; kind != "review" {
		schema, _ := document.Schema(kind) //nolint:errcheck // it is one of the kinds
		var short bytes.Buffer
		_ = json.Compact(&short, schema)
		fmt.Fprintf(&b, "Its JSON Schema:\n%s\n", short.String())
	}
	return b.String()
}

// template tells of the template that the document begins with.
func (b *prompt) template(p *paper) {
	t := p.own.template
	if t == nil {
		return
	}
	fmt.Fprintf(b, "It is made by the template %q: %s, %s.\n", t.ID, t.Title, t.Purpose)
	if p.stage == planning {
		fmt.Fprintf(b, "Keep its sections with their ids; you may add others. This is its outline:\n%s", document.JSON(t.Outline(p.format, p.brief.Bead.GetGoal())))
		return
	}
	b.WriteString("Begin with its spec: fill its places, which stand in braces, and write what it marks as to be written, by patches or whole. A place that is left open is an error.\n")
	for _, x := range t.Parameters {
		if p.own.given[x.Name] == "" {
			fmt.Fprintf(b, "- {%s}: %s, for example %q\n", x.Name, x.About, x.Example)
		}
	}
	fmt.Fprintf(b, "%s\n", t.Begin(p.own.given))
}

func (b *prompt) reviewed(p *paper) {
	b.WriteString("Judge what rules cannot: is it true, complete, and of use to its reader? Recommend patches for what can be mended; they are carried out at once, and each that is refused is told. " +
		"Set blockCommit only for what patches cannot mend: the spec is then written again. A report looks like this:\n" + reviewPattern + "\n")
	if len(p.mended) > 0 {
		fmt.Fprintf(b, "The runtime has mended these errors already; see whether a text still says what stood there:%s\n", p.mendedLines())
	}
	if n := p.theirs.refused.GetApplied(); n > 0 {
		fmt.Fprintf(b, "%d patches of a person's are carried out: leave what they changed as it is.\n", n)
	}
	found := p.byRules(p.base)
	if len(found.Findings) == 0 {
		b.WriteString("The rules find nothing.\n")
		return
	}
	b.WriteString("The rules find:\n")
	b.data(findingLines(found))
}

// findingLines are findings for people and models, the worst first.
func findingLines(r *loomv1.ReviewReport) string {
	const most = 40
	list := slices.Clone(r.Findings)
	weight := map[string]int{"error": 0, "warn": 1, "info": 2}
	slices.SortStableFunc(list, func(x, y *loomv1.ReviewFinding) int { return weight[x.Severity] - weight[y.Severity] })
	var b strings.Builder
	for i, f := range list {
		if i == most {
			fmt.Fprintf(&b, "and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "%s: %s: %s: %s\n", f.Severity, f.Path, f.Rule, f.Message)
	}
	return b.String()
}

// patchLines tell what became of patches.
func patchLines(r *loomv1.PatchReport) string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d patches carried out, %d refused\n", r.Applied, r.Refused)
	for i, x := range r.Results {
		if !x.Applied {
			fmt.Fprintf(&b, "refused: %s %s %s: %s [%s]\n", orNumber(x.Id, i), x.Action, x.Target, turn.Clip(x.Message, 400), x.Code)
		}
	}
	return b.String()
}

func orNumber(id string, i int) string {
	if id != "" {
		return id
	}
	return fmt.Sprint(i + 1)
}
