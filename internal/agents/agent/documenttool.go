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

// artifactTools has a model that works on a document write its artifacts and, where there
// may be a spec, change it by [document.Edits]; a process can exclude these.
func (r *run) artifactTools() (list []tool.Outside) {
	if r.paper == nil || len(r.paper.kinds()) == 0 {
		return nil
	}
	r.paper.turn = r
	words, _ := json.Marshal(r.paper.kinds()) //nolint:errchkjson // of texts
	list = append(list, r.paper.offer(artifactWrite,
		"Write an artifact of the document, whole, under the name that it has. It is checked at the call: everything wrong is told at once, by its path. "+
			"Of kind patches: they are carried out on the spec, and each that is refused is told.",
		json.RawMessage(`{"type":"object","additionalProperties":false,"required":["kind","artifact"],"properties":{"kind":{"type":"string","enum":`+string(words)+`},`+
			`"artifact":{"type":["object","string"],"description":"the artifact itself, as JSON; of kind markdown a text"}}}`)))
	if r.paper.stage != planning {
		for _, e := range document.Edits() {
			list = append(list, r.paper.offer(e.Name, e.About, e.Schema))
		}
	}
	excluded := r.brief.Definition.GetGuide().GetExcludedTools()
	list = slices.DeleteFunc(list, func(o tool.Outside) bool { return o.Name != artifactWrite && tool.Allows(excluded, o.Name) })
	for _, o := range list {
		if !tool.Allows(r.role.Tools.All(), o.Name) {
			r.role.Tools.Allow = append(slices.Clip(r.role.Tools.Allow), o.Name)
		}
	}
	return list
}

// offer is a tool that writes to the document.
func (p *paper) offer(name, about string, schema json.RawMessage) tool.Outside {
	return tool.Outside{
		Spec: tool.Spec{Name: name, Class: loomv1.ToolClass_TOOL_CLASS_WRITE, Description: about, Schema: schema},
		Run: func(_ context.Context, call *loomv1.ToolCall) (string, bool, error) {
			text, err := p.take(call)
			return text, false, err
		},
	}
}

// isArtifact says that a tool writes to the document.
func isArtifact(tool string) bool {
	_, edit := document.EditNamed(tool)
	return edit || tool == artifactWrite
}

// artifactCall is what a call writes: an artifact of a kind, or, of the kind that is called
// like a granular change, the arguments of that.
type artifactCall struct {
	Kind     string          `json:"kind"`
	Artifact json.RawMessage `json:"artifact"`
	written  bool
}

// isSpec says that a call writes a spec as a whole.
func (a artifactCall) isSpec() bool {
	_, edit := document.EditNamed(a.Kind)
	return !edit && !slices.Contains([]string{"patches", "markdown", "review", "outline"}, a.Kind)
}

// written is what the calls of a turn have come to.
type written struct {
	spec    proto.Message   // nil for none
	patches []*loomv1.Patch // that were carried out
	draft   *artifactCall   // the spec that was refused since, which patches can mend
}

// read takes a call apart; an artifact in quotes is what stands in them.
func readArtifact(call *loomv1.ToolCall) (a artifactCall, err error) {
	if call.Tool != artifactWrite {
		return artifactCall{Kind: call.Tool, Artifact: json.RawMessage(call.GetArguments())}, nil
	}
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
	switch _, edit := document.EditNamed(a.Kind); {
	case !edit && !slices.Contains(p.kinds(), a.Kind):
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
	if t := p.own.template; t != nil {
		problems := t.Lacks(o)
		for _, e := range problems {
			e.Where = p.files.Outline + ": " + e.Where
		}
		if err := fault.Join(problems); err != nil {
			return "", err
		}
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
	spec, _, report, err := p.apply(p.folded(), a)
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
	so := p.folded()
	if so.spec == nil {
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
	changed, now, report, err := p.apply(so, a)
	if err != nil {
		return "", err
	}
	done := append(so.patches, now...)
	final := p.judged(changed, judged, done)
	if err := p.writeReview(changed, done, final); err != nil {
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

// apply is what a call makes of what those before it have come to: the spec, the patches
// among it that were carried out, and what became of each, nil where there were none.
func (p *paper) apply(so written, a artifactCall) (changed proto.Message, done []*loomv1.Patch, report *loomv1.PatchReport, err error) {
	spec := so.spec
	var persons []*loomv1.Patch
	if p.stage == reviewing { // what is written again gets them again
		persons = p.theirs.patches
	}
	if e, ok := document.EditNamed(a.Kind); ok {
		if spec == nil {
			return nil, nil, nil, nil
		}
		patches, err := e.Patches(spec, a.Artifact)
		if err != nil {
			return nil, nil, nil, err
		}
		if changed, report, err = document.ApplyWhole(spec, patches, persons); err != nil {
			return nil, nil, nil, err
		}
		return changed, patches, report, nil
	}
	switch a.Kind {
	case "patches", "review":
		patches, err := patchesOf(a)
		if err == nil && so.draft != nil {
			m, err := document.Mend(p.files.Spec, so.draft.Artifact, so.draft.Kind, patches)
			return m, nil, nil, err
		}
		if err != nil || spec == nil || len(patches) == 0 {
			return spec, nil, nil, err
		}
		changed, report := document.ApplyAfter(spec, patches, persons)
		for i, r := range report.Results {
			if r.Applied {
				done = append(done, patches[i])
			}
		}
		return changed, done, report, nil
	case "markdown":
		o := p.outline()
		if o == nil {
			o = p.minimal()
		}
		made, missing := document.FromMarkdown(o, string(a.Artifact))
		if len(missing) == len(o.Sections) {
			return nil, nil, nil, fault.New("document/invalid", "the text has none of the outline's sections").At("artifact").Want("begin each with its title: ## %s", o.Sections[0].Title)
		}
		m, err := document.Read(p.files.Spec, document.JSON(made), "document")
		return m, nil, nil, err
	}
	m, err := document.Read(p.files.Spec, a.Artifact, a.Kind)
	return m, nil, nil, err
}

// patchesOf are the patches of a call of kind patches or review, as the model's.
func patchesOf(a artifactCall) ([]*loomv1.Patch, error) {
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

// folded is what the calls of this turn have come to so far.
// It is made of what is recorded alone, so that a call that is carried out twice after
// a crash changes nothing twice.
func (p *paper) folded() written {
	so := written{spec: p.begun()}
	for _, a := range p.everyCall() {
		so = p.next(so, a)
	}
	return so
}

// begun is the spec that patches change before one was written: the one that there is, or
// what the template begins with; nil for none.
func (p *paper) begun() proto.Message {
	if t := p.own.template; p.base == nil && t != nil && p.stage == rendering {
		if m, err := document.Read("", t.Begin(p.own.given), p.kinds()[0]); err == nil {
			return m
		}
	}
	return p.base
}

// next is what a recorded call makes of what those before it have come to.
func (p *paper) next(so written, a artifactCall) written {
	switch changed, done, _, err := p.apply(so, a); {
	case !a.written && a.isSpec() && fault.Code(err) == "document/invalid":
		so.draft = &a
	case a.written && err == nil:
		so = written{spec: changed, patches: append(so.patches, done...)}
	}
	return so
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

// everyCall are the calls of the turn that wrote an artifact, or were refused, in order.
func (p *paper) everyCall() (list []artifactCall) {
	if p.turn == nil {
		return nil
	}
	for _, s := range p.turn.t.Steps {
		t := s.GetTool()
		if !isArtifact(t.GetCall().GetTool()) || t.GetResult() == nil {
			continue
		}
		a, err := readArtifact(t.Call)
		a.written = t.Result.Status == loomv1.ToolStatus_TOOL_STATUS_OK
		if err == nil || !a.written {
			list = append(list, a)
		}
	}
	return list
}

// calls are those that wrote an artifact, or those that were refused.
func (p *paper) calls(written bool) []artifactCall {
	return slices.DeleteFunc(p.everyCall(), func(a artifactCall) bool { return a.written != written })
}

// refusedCalls counts the artifacts of a kind that were refused in this turn; "" for
// specs. What could not even be read counts for any.
func (p *paper) refusedCalls(kind string) (n int) {
	for _, a := range p.calls(false) {
		if a.Kind == "" || a.Kind == kind || kind == "" && a.isSpec() {
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
		hint = "Mend what is told above, keep the rest, and call " + artifactWrite + " again with the whole artifact." + p.draftHint(a)
	case n < mostTries && p.little(a) > 0:
		hint = fmt.Sprintf("Little is wrong, %d of it: keep the rest, and mend these.%s", p.little(a), p.draftHint(a))
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

// little counts what is wrong with a refused spec, 0 where it is more than one thing in
// 200 bytes of it, or more than 20.
func (p *paper) little(a artifactCall) int {
	_, err := document.Read(p.files.Spec, a.Artifact, a.Kind)
	n := len(fault.All(err))
	if p.stage != rendering || fault.Code(err) == "document/json" || n > 20 || n*200 > len(a.Artifact) {
		return 0
	}
	return n
}

// draftHint says that patches are carried out on a spec that was refused.
func (p *paper) draftHint(a artifactCall) string {
	if _, err := document.Mend(p.files.Spec, a.Artifact, a.Kind, nil); p.stage != rendering || fault.Code(err) != "document/invalid" {
		return ""
	}
	return " Or send kind patches for what is wrong: they are carried out on what you just sent, if all of them fit."
}

func ordinal(n int) string {
	if n == mostTries {
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}
