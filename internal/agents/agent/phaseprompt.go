package agent

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Bounds of what a prompt holds of files, in bytes.
const (
	materialFile  = 64 << 10
	materialTotal = 256 << 10
	workspaceText = 8 << 10
)

// guide tells what the process says to everybody.
func (p *prompt) guide(b *loomv1.Brief, r roles.Role) {
	g := b.Definition.GetGuide()
	if g == nil {
		return
	}
	p.section("Process")
	fmt.Fprintf(p, "process: %s\n", b.Definition.Name)
	p.paragraph("Who you are here", g.Persona)
	p.paragraph("Tools", guidance(g.ToolGuidance, r.Tools.All()))
	if len(g.MemoryTypes) > 0 {
		p.WriteString("Worth remembering, with memory_keep, under its type; without that tool with decision_log, as an observation whose title begins with the type:\n")
		for _, t := range g.MemoryTypes {
			fmt.Fprintf(p, "- %s: %s\n", t.Type, t.Description)
		}
		p.paragraph("", g.MemoryGuidance)
	}
	p.WriteByte('\n')
}

func (p *prompt) paragraph(title, text string) {
	if text == "" {
		return
	}
	if title != "" {
		fmt.Fprintf(p, "%s:\n", title)
	}
	p.WriteString(strings.TrimSpace(text) + "\n")
}

// phase tells what a phase must deliver and what it is held against.
func (p *prompt) phase(b *loomv1.Brief) {
	ph := b.Node.GetPhase()
	if ph == nil {
		return
	}
	before := p.Len()
	p.section("Phase")
	title := p.Len()
	if ph.Of != "" {
		fmt.Fprintf(p, "about phase: %s\n", ph.Of)
	}
	p.paragraph("Good enough when", ph.AcceptanceCriteria)
	if list := verify.Deliverables(ph); len(list) > 0 {
		p.WriteString("Deliverables, each a file in the workspace with exactly this name:\n")
		for _, d := range list {
			fmt.Fprintf(p, "- %s  %s\n", d.Name, d.About)
		}
	}
	if isWork(b.Node) {
		p.heldAgainst(b)
	}
	if p.Len() == title { // there is nothing to say of it
		text := p.String()[:before]
		p.Reset()
		p.WriteString(text)
		return
	}
	p.WriteByte('\n')
}

func (p *prompt) heldAgainst(b *loomv1.Brief) {
	said := false
	for _, r := range b.Definition.GetGuide().GetRules() {
		if !verify.About(r, b.Attempt.Node, b.Node.Phase) {
			continue
		}
		if !said {
			p.WriteString("It is held against these rules:\n")
			said = true
		}
		word := "warning"
		if r.Severity == loomv1.Severity_SEVERITY_ERROR {
			word = "must hold"
		}
		about := r.Description + " "
		if about != " " && verify.Deterministic(r) {
			about = r.Description + "; "
		}
		fmt.Fprintf(p, "- %s (%s): %s\n", r.Name, word, strings.TrimSpace(about+verify.Tested(r)))
	}
}

// inWorkspace is how prompts to those who work by a process begin: the assignment,
// and what the workspace holds.
func (j *job) inWorkspace(files fs.FS) string {
	g := j.brief.Definition.GetGuide()
	var p prompt
	p.WriteString(Prompt(j.brief, j.role) + "\n")
	p.section("Workspace")
	p.data(plan.Workspace(files, g.GetScanFor(), workspaceText))
	p.paragraph("", g.GetWorkspaceGuidance())
	return p.String()
}

// phasePrompt is the first message to whoever works on a phase.
func (j *job) phasePrompt(files fs.FS) string {
	var p prompt
	p.WriteString(j.inWorkspace(files) + "\n")
	earlier := j.earlierPhases()
	if j.brief.Node.Phase.GetSynthesis() {
		p.WriteString(j.material(files, earlier))
	} else {
		p.listed(j, files, earlier)
	}
	p.read(j.brief)
	return p.String()
}

// inContext gives the deliverables of all phases the names that the execution's
// context asks for.
func inContext(b *loomv1.Brief) error {
	var def *loomv1.Definition
	for i, n := range b.Definition.GetNodes() {
		if n.Phase == nil {
			continue
		}
		named, err := verify.InContext(n.Phase, b.Execution.GetContext())
		if err != nil {
			return err
		}
		if named == n.Phase {
			continue
		}
		if def == nil {
			def = proto.CloneOf(b.Definition) // which others have too
		}
		def.Nodes[i].Phase = named
	}
	if def == nil {
		return nil
	}
	b.Definition = def
	for _, n := range def.Nodes {
		if n.Id == b.Node.GetId() {
			b.Node = n
		}
	}
	return nil
}

// listed names the files of earlier phases, to be read where they are needed.
func (p *prompt) listed(j *job, files fs.FS, phases []*loomv1.NodeDefinition) {
	var lines []string
	for _, n := range phases {
		for _, name := range j.filesOf(n) {
			if info, err := fs.Stat(files, name); err == nil {
				lines = append(lines, fmt.Sprintf("%s, of phase %s, %d bytes", name, n.Id, info.Size()))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	p.section("Files of earlier phases")
	p.WriteString("Read what you need of them:\n")
	p.data(strings.Join(lines, "\n"))
	p.WriteByte('\n')
}

// material gives the whole of what phases delivered, up to a bound; what is cut
// or left out is said.
func (j *job) material(files fs.FS, phases []*loomv1.NodeDefinition) string {
	var p prompt
	p.section("Material")
	left := materialTotal
	for _, n := range phases {
		for _, name := range j.filesOf(n) {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				fmt.Fprintf(&p, "%s, of phase %s, is not there\n", name, n.Id)
				continue
			}
			left -= p.file(name, n.Id, data, min(left, materialFile))
		}
	}
	p.WriteByte('\n')
	return p.String()
}

// file writes a file as data, cut to limit bytes, and returns how many it took.
func (p *prompt) file(name, phase string, data []byte, limit int) int {
	fmt.Fprintf(p, "### %s (phase %s, %d bytes)\n", name, phase, len(data))
	if text, ok := verify.Readable(name, data); ok {
		data = []byte(text)
	}
	switch {
	case !utf8.Valid(data):
		p.WriteString("it is no text; look at it with a tool\n")
		return 0
	case limit <= 0:
		p.WriteString("left out, because there is so much before it; read it with file_read\n")
		return 0
	case len(data) > limit:
		p.data(strings.ToValidUTF8(string(data[:limit]), ""))
		fmt.Fprintf(p, "the last %d bytes are cut; read them with file_read\n", len(data)-limit)
		return limit
	}
	p.data(string(data))
	return len(data)
}

// filesOf names what a phase delivered: what it promises, or, where another
// process did it, what that says it delivered.
func (j *job) filesOf(n *loomv1.NodeDefinition) []string {
	var names []string
	for _, d := range verify.Deliverables(n.Phase) {
		names = append(names, d.Name)
	}
	if n.Process == "" {
		return names
	}
	for line := range strings.Lines(j.brief.Execution.Nodes[n.Id].GetOutcome().GetNotes()) {
		said, ok := strings.CutPrefix(strings.TrimSpace(line), deliveredMark)
		name, _, _ := strings.Cut(said, " (")
		if d, err := verify.ParseDeliverable(name); ok && err == nil && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// earlierPhases returns the phases before the job's node that came to a good
// end, in the order of the process.
func (j *job) earlierPhases() []*loomv1.NodeDefinition {
	before := upstream(j.brief)
	var list []*loomv1.NodeDefinition
	for _, n := range j.brief.Definition.GetNodes() {
		if before[n.Id] && n.Id != j.brief.Attempt.Node && isWork(n) && j.succeeded(n.Id) {
			list = append(list, n)
		}
	}
	return list
}

// upstream returns the job's node and those from which work comes to it, at once or
// over others.
func upstream(b *loomv1.Brief) map[string]bool {
	return reaches(b, func(e *loomv1.EdgeDefinition) (from, to string) { return e.To, e.From })
}

// downstream returns the job's node and those that its work goes to; they can send
// it back.
func downstream(b *loomv1.Brief) map[string]bool {
	return reaches(b, func(e *loomv1.EdgeDefinition) (from, to string) { return e.From, e.To })
}

// reaches returns the job's node and all that steps lead to from there.
func reaches(b *loomv1.Brief, step func(*loomv1.EdgeDefinition) (from, to string)) map[string]bool {
	reached := map[string]bool{b.Attempt.Node: true}
	for changed := true; changed; {
		changed = false
		for _, e := range b.Definition.GetEdges() {
			if from, to := step(e); reached[from] && !reached[to] {
				reached[to], changed = true, true
			}
		}
	}
	return reached
}

// deliveredMark begins a line that names a delivered file.
const deliveredMark = "delivered: "

func delivered(files fs.FS, p *loomv1.Phase) string {
	var b strings.Builder
	for _, d := range verify.Deliverables(p) {
		if info, err := fs.Stat(files, d.Name); err == nil {
			fmt.Fprintf(&b, "%s%s (%d bytes)\n", deliveredMark, d.Name, info.Size())
		}
	}
	return b.String()
}

// questionText asks a verifier.
func questionText(questions []verify.Question) string {
	var p prompt
	p.section("Questions")
	fmt.Fprintf(&p, "Judge each by the files alone. Answer with two fields: whether it is so, and the evidence. What is so, show with a quotation and its file, as in report.md: \"words of it\"; it is looked up there, has %d characters or more, and the numbers that you name must be there, too. What is not so, show in the same way, or say what you looked for and did not find. An answer whose evidence is not in the files does not count. Call finish with status success when you have judged, whatever the answers are.\n", verify.LeastQuotation)
	for _, q := range questions {
		fmt.Fprintf(&p, "- %s, %s: %s\n", q.Field, q.Evidence, q.Text)
	}
	p.WriteByte('\n')
	return p.String()
}
