package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// artifactWrite is the one tool by which a model writes what belongs to a document.
const artifactWrite = "artifact_write"

// mostTries is how many artifacts of a turn are refused before another way is taken.
const mostTries = 3

// kinds are the artifacts that a model writes at a stage.
func (p *paper) kinds() []string {
	switch p.stage {
	case planning:
		return []string{"outline"}
	case rendering:
		list := []string{document.SpecKind(p.format), "patches", "markdown"}
		if p.format == "pptx" { // a deck can be made of a text
			list = slices.Insert(list, 1, "document")
		}
		return list
	case reviewing:
		return []string{"review", "patches"}
	}
	return nil
}

// artifactTools has a model that works on a document write its artifacts.
func (r *run) artifactTools() []tool.Outside {
	if r.paper == nil || len(r.paper.kinds()) == 0 {
		return nil
	}
	r.paper.turn = r
	if !tool.Allows(r.role.Tools.All(), artifactWrite) {
		r.role.Tools.Allow = append(slices.Clip(r.role.Tools.Allow), artifactWrite)
	}
	words, _ := json.Marshal(r.paper.kinds()) //nolint:errchkjson // of texts
	return []tool.Outside{{
		Spec: tool.Spec{
			Name: artifactWrite, Class: loomv1.ToolClass_TOOL_CLASS_WRITE,
			Description: "Write an artifact of the document, whole, under the name that it has. It is checked at the call: everything wrong is told at once, by its path. " +
				"Of kind patches: they are carried out on the spec, and each that is refused is told.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["kind","artifact"],"properties":{"kind":{"type":"string","enum":` + string(words) + `},` +
				`"artifact":{"type":["object","string"],"description":"the artifact itself, as JSON; of kind markdown a text"}}}`),
		},
		Run: func(_ context.Context, call *loomv1.ToolCall) (string, bool, error) {
			text, err := r.paper.take(call)
			return text, false, err
		},
	}}
}

// artifactCall is what a call writes.
type artifactCall struct {
	Kind     string          `json:"kind"`
	Artifact json.RawMessage `json:"artifact"`
}

// read takes a call apart; an artifact in quotes is what stands in them.
func readArtifact(call *loomv1.ToolCall) (a artifactCall, err error) {
	if err := json.Unmarshal([]byte(call.GetArguments()), &a); err != nil {
		return a, err
	}
	var quoted string
	if json.Unmarshal(a.Artifact, &quoted) == nil && bytes.HasPrefix(bytes.TrimSpace(a.Artifact), []byte(`"`)) {
		a.Artifact = []byte(quoted)
	}
	return a, nil
}

// take carries a call out: it writes what fits, or returns all that does not.
func (p *paper) take(call *loomv1.ToolCall) (string, error) {
	a, err := readArtifact(call)
	if err != nil {
		return "", err
	}
	switch {
	case !slices.Contains(p.kinds(), a.Kind):
		return "", fault.New("usage/argument", "this phase writes no such artifact").At("kind").Got(a.Kind).Want("%s", suggest.Among(a.Kind, p.kinds()))
	case a.Kind == "outline":
		return p.takeOutline(a)
	case a.Kind == "review" || p.stage == reviewing:
		return p.takeReview(a)
	}
	return p.takeSpec(a)
}

func (p *paper) takeOutline(a artifactCall) (string, error) {
	m, err := document.Read(p.files.Outline, a.Artifact, "outline")
	if err != nil {
		return "", err
	}
	o, _ := m.(*loomv1.PlanningOutline)
	if o.ArtifactType != p.format {
		return "", fault.New("document/invalid", "the document becomes a %s", p.format).At(p.files.Outline + ": artifactType").Got(o.ArtifactType)
	}
	if err := p.write(p.files.Outline, document.JSON(o)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: written, %d sections\n", p.files.Outline, len(o.Sections)), nil
}

// takeSpec writes a spec, or changes the one that there is, and tells what a review
// finds, so that it can be mended at once.
func (p *paper) takeSpec(a artifactCall) (string, error) {
	if a.Kind == "markdown" && p.refusedCalls("") < mostTries {
		return "", fault.New("usage/argument", "Markdown is taken in the place of a spec only after %d specs were refused", mostTries).At("kind").Want("%s", p.kinds()[0])
	}
	before, _ := p.folded()
	spec, report, err := p.apply(before, a)
	if err != nil {
		return "", err
	}
	if spec == nil {
		return "", fault.New("document/invalid", "there is no spec yet that patches could change").At("kind").Got(a.Kind).Want("%s", p.kinds()[0])
	}
	if err := p.write(p.files.Spec, document.JSON(spec)); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: written, %d nodes\n%s", p.files.Spec, len(document.Nodes(spec)), patchLines(report))
	found := p.byRules(spec)
	if len(found.Findings) == 0 {
		b.WriteString("A review finds nothing.\n")
		return b.String(), nil
	}
	fmt.Fprintf(&b, "A review finds this; mend what is an error, by patches or by writing it anew:\n%s", findingLines(found))
	return b.String(), nil
}

// takeReview carries out what a model's review recommends, holds the spec against the
// rules once more, and writes both down.
func (p *paper) takeReview(a artifactCall) (string, error) {
	spec, done := p.folded()
	if spec == nil {
		return "", fault.New("document/invalid", "there is no spec to review").At(p.files.Spec)
	}
	judged := p.lastReview()
	if a.Kind == "review" {
		m, err := document.Read(p.files.Review, a.Artifact, "review")
		if err != nil {
			return "", err
		}
		judged, _ = m.(*loomv1.ReviewReport)
	}
	changed, report, err := p.apply(spec, a)
	if err != nil {
		return "", err
	}
	final := p.judged(changed, judged)
	if err := p.writeReview(changed, slices.Concat(done, carriedOut(a, report)), final); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: written, %s\n%s", p.files.Review, verdictText(final), patchLines(report))
	if len(final.Findings) > 0 {
		fmt.Fprintf(&b, "What stands now:\n%s", findingLines(final))
	}
	return b.String(), nil
}

// writeReview writes what a review leaves: the patches are a person's, those of the rules,
// and then those given.
func (p *paper) writeReview(spec proto.Message, patches []*loomv1.Patch, report *loomv1.ReviewReport) error {
	patches = slices.Concat(p.theirs.patches, p.mended, patches)
	if err := p.write(p.files.Spec, document.JSON(spec)); err != nil {
		return err
	}
	if len(patches) > 0 {
		if err := p.write(p.files.Patches, document.JSON(&loomv1.PatchSet{Patches: patches})); err != nil {
			return err
		}
	}
	return p.write(p.files.Review, document.JSON(report))
}

func verdictText(r *loomv1.ReviewReport) string {
	if r.GetBlockCommit() {
		return "which keeps the spec from becoming a file"
	}
	return "the spec may become a file"
}

// apply is what a call makes of a spec.
func (p *paper) apply(spec proto.Message, a artifactCall) (proto.Message, *loomv1.PatchReport, error) {
	switch a.Kind {
	case "patches", "review":
		patches, err := patchesOf(a)
		if err != nil || spec == nil || len(patches) == 0 {
			return spec, nil, err
		}
		var persons []*loomv1.Patch
		if p.stage == reviewing { // what is written again gets them again
			persons = p.theirs.patches
		}
		changed, report := document.ApplyAfter(spec, patches, persons)
		return changed, report, nil
	case "markdown":
		o := p.outline()
		if o == nil {
			o = p.minimal()
		}
		made, missing := document.FromMarkdown(o, string(a.Artifact))
		if len(missing) == len(o.Sections) {
			return nil, nil, fault.New("document/invalid", "the text has none of the outline's sections").At("artifact").Want("begin each with its title: ## %s", o.Sections[0].Title)
		}
		m, err := document.Read(p.files.Spec, document.JSON(made), "document")
		return m, nil, err
	}
	m, err := document.Read(p.files.Spec, a.Artifact, a.Kind)
	return m, nil, err
}

// patchesOf are the patches of a call, as the model's.
func patchesOf(a artifactCall) ([]*loomv1.Patch, error) {
	if a.Kind != "patches" && a.Kind != "review" {
		return nil, nil
	}
	m, err := document.Read(a.Kind, a.Artifact, a.Kind)
	if err != nil {
		return nil, err
	}
	var list []*loomv1.Patch
	switch m := m.(type) {
	case *loomv1.PatchSet:
		list = m.Patches
	case *loomv1.ReviewReport:
		list = m.RecommendedPatches
	}
	for _, x := range list {
		x.By = "model"
	}
	return list, nil
}

// carriedOut are the patches of a call that were not refused.
func carriedOut(a artifactCall, report *loomv1.PatchReport) (list []*loomv1.Patch) {
	patches, _ := patchesOf(a) //nolint:errcheck // the report is about them
	for i, r := range report.GetResults() {
		if r.Applied && i < len(patches) {
			list = append(list, patches[i])
		}
	}
	return list
}

// folded is the spec that the calls of this turn have made so far, and the patches among
// them that were carried out.
// It is made of what is recorded alone, so that a call that is carried out twice after
// a crash changes nothing twice.
func (p *paper) folded() (spec proto.Message, patches []*loomv1.Patch) {
	spec = p.base
	for _, a := range p.calls(true) {
		if changed, report, err := p.apply(spec, a); err == nil {
			spec, patches = changed, append(patches, carriedOut(a, report)...)
		}
	}
	return spec, patches
}

// lastReview is the model's newest review, nil for none.
func (p *paper) lastReview() *loomv1.ReviewReport {
	calls := p.calls(true)
	for i := range slices.Backward(calls) {
		if m, err := document.Read("", calls[i].Artifact, "review"); calls[i].Kind == "review" && err == nil {
			r, _ := m.(*loomv1.ReviewReport)
			return r
		}
	}
	return nil
}

// calls are the calls of the turn that wrote an artifact, or were refused.
func (p *paper) calls(written bool) (list []artifactCall) {
	if p.turn == nil {
		return nil
	}
	for _, s := range p.turn.t.Steps {
		t := s.GetTool()
		if t.GetCall().GetTool() != artifactWrite || t.GetResult() == nil || (t.Result.Status == loomv1.ToolStatus_TOOL_STATUS_OK) != written {
			continue
		}
		a, err := readArtifact(t.Call)
		if err != nil && written {
			continue
		}
		list = append(list, a)
	}
	return list
}

// refusedCalls counts the artifacts of a kind that were refused in this turn; "" for
// specs. What could not even be read counts for any.
func (p *paper) refusedCalls(kind string) (n int) {
	for _, a := range p.calls(false) {
		spec := a.Kind != "patches" && a.Kind != "markdown" && a.Kind != "review" && a.Kind != "outline"
		if a.Kind == "" || a.Kind == kind || kind == "" && spec {
			n++
		}
	}
	return n
}

// markdown reports whether the spec was made of Markdown.
func (p *paper) markdown() bool {
	return slices.ContainsFunc(p.calls(true), func(a artifactCall) bool { return a.Kind == "markdown" })
}

// hinted adds to the refusal of an artifact what helps further: more with each, and
// after the last the other way.
func (r *run) hinted(c *loomv1.ToolCall, res tool.Result) tool.Result {
	p := r.paper
	if p == nil || c.Tool != artifactWrite || res.Status == loomv1.ToolStatus_TOOL_STATUS_OK || len(p.kinds()) == 0 {
		return res
	}
	a, _ := readArtifact(c)
	if a.Kind == "patches" || a.Kind == "markdown" {
		return res
	}
	kind := p.kinds()[0]
	counted := map[bool]string{true: "", false: kind}[p.stage == rendering]
	n := p.refusedCalls(counted) + 1
	hint := ""
	switch {
	case n == 1:
		hint = "Mend what is told above, keep the rest, and call " + artifactWrite + " again with the whole artifact."
	case n < mostTries:
		hint = "Begin with this, which fits, and fill it in; use no key that it or the schema does not have:\n" + p.pattern()
	case p.stage == planning:
		if err := p.write(p.files.Outline, document.JSON(p.minimal())); err != nil {
			return res
		}
		hint = fmt.Sprintf("%s\nThat was the %s outline that was refused, so the runtime wrote the minimal one, made of the goal, to %s. Call finish.", strings.TrimSpace(res.Output), ordinal(n), p.files.Outline)
		return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Summary: "refused again: the minimal outline was written", Output: hint + "\n", Changed: []string{p.files.Outline}}
	case p.stage == rendering:
		hint = "Write it as Markdown now: kind markdown, the artifact a text with a heading for each section of the outline, ## and its very title. What is missing is noted in its place."
	default:
		hint = "The runtime's own review stands. Call finish."
	}
	res.Output = strings.TrimRight(res.Output, "\n") + "\n" + hint + "\n"
	return res
}

func ordinal(n int) string {
	if n == mostTries {
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}

// pattern is an artifact of the stage that fits.
func (p *paper) pattern() string {
	switch p.stage {
	case planning:
		return string(document.JSON(p.minimal()))
	case rendering:
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
 "findings": [{"rule": "model/argument", "path": "sections[1].body", "severity": "warn", "message": "the reason is missing"}],
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
	case rendering:
		fmt.Fprintf(&b, "Carry out %s: each section names in outlineId the outline's section that it is about. Then mend what the review finds with kind patches.\n", p.files.Outline)
		b.WriteString("A long document need not be written in one call: write its first sections, and append the others with patches, {\"target\": \"sections\", \"action\": \"append\", \"value\": {...}}.\n")
		b.WriteString(specForm)
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

func (b *prompt) reviewed(p *paper) {
	b.WriteString("Judge what rules cannot: is it true, complete, and of use to its reader? Recommend patches for what can be mended; they are carried out at once, and each that is refused is told. " +
		"Set blockCommit only for what patches cannot mend: the spec is then written again. A report looks like this:\n" + reviewPattern + "\n")
	if len(p.mended) > 0 {
		b.WriteString("The runtime has mended these errors already; see whether a text still says what stood there:\n")
		for _, x := range p.mended {
			fmt.Fprintf(b, "- %s %s\n", x.Action, x.Target)
		}
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
