package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// review holds the spec against the rules, has them mend what they can of its errors,
// and a model judge the rest. The verdict is what the rules say of what came of it, or
// the model's, whichever is worse.
func (p *paper) review(ctx context.Context, tree *git.Worktree, conflicts []string) (*loomv1.Outcome, error) {
	if p.base == nil {
		return p.failure(fault.New("document/invalid", "there is no spec to review").At(p.files.Spec), "change"), nil
	}
	p.first()
	p.mend()
	report := p.judged(p.base, nil, nil)
	if err := p.remove(p.files.Patches); err != nil { // of an earlier cycle
		return nil, err
	}
	if err := p.writeReview(p.base, nil, report); err != nil {
		return nil, err
	}
	p.promised = p.holding(p.delivers(tree), p.files.Review, "review")
	node := p.brief.Node
	p.brief.Node = proto.CloneOf(node) // the verdict is the runtime's to give
	p.brief.Node.Outcome = nil
	out, err := p.phaseTurn(ctx, tree, conflicts)
	p.brief.Node = node
	if err != nil {
		return nil, err
	}
	if !succeededWith(out) {
		if !p.lastTry() {
			out.Fields = p.outcome(out.Status, "", "", nil).Fields
			return out, nil
		}
		out = p.success("the rules alone judged the spec", out.Summary)
	}
	return p.verdict(out)
}

// mend carries out what the rules recommend for errors.
func (p *paper) mend() {
	found := p.byRules(p.base)
	wanted := map[string]bool{}
	for _, f := range found.Findings {
		if f.Severity == "error" && f.Patch != "" {
			wanted[f.Patch] = true
		}
	}
	for _, x := range found.RecommendedPatches {
		if wanted[x.Id] {
			p.mended = append(p.mended, x)
		}
	}
	p.base, _ = document.ApplyAfter(p.base, p.mended, p.theirs.patches)
}

// mendedLines tell what the rules have mended, a line each.
func (p *paper) mendedLines() string {
	var b strings.Builder
	for _, x := range p.mended {
		fmt.Fprintf(&b, "\n- %s %s", x.Action, x.Target)
	}
	return b.String()
}

// judged is what rules and a model (nil for none) say of a spec that patches were carried
// out on, and which patches of a person's could not be carried out.
func (p *paper) judged(spec proto.Message, model *loomv1.ReviewReport, done []*loomv1.Patch) *loomv1.ReviewReport {
	r := document.Merge(p.byRules(spec), model, done)
	return document.WithFindings(r, p.theirs.findings())
}

// verdict is the outcome of a review, and its files once more: a turn that another host
// took up has written them before this one began anew.
func (p *paper) verdict(out *loomv1.Outcome) (*loomv1.Outcome, error) {
	so := p.folded()
	report := p.judged(so.spec, p.lastReview(), so.patches)
	if err := p.writeReview(so.spec, so.patches, report); err != nil {
		return nil, err
	}
	errs := 0
	for _, f := range report.Findings {
		if f.Severity == "error" {
			errs++
		}
	}
	notes := out.Notes
	if p.lastReview() == nil {
		notes += "\nNo review of the model's could be used: the rules alone have judged."
	}
	if n := p.theirs.refused.GetApplied(); n > 0 {
		notes += fmt.Sprintf("\n%d patches of a person's were carried out first.", n)
	}
	if len(p.mended) > 0 {
		notes += "\nThe rules have mended these errors:" + p.mendedLines()
	}
	notes += "\n" + p.refusedPatches() + findingLines(report)
	final := p.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, out.Summary, strings.TrimSpace(notes), map[string]any{"block": report.GetBlockCommit(), "errors": errs})
	return final, nil
}

// refusedPatches tell which patches of the turn were not carried out.
func (p *paper) refusedPatches() string {
	var b strings.Builder
	so := written{spec: p.base}
	for _, a := range p.everyCall() {
		if _, _, report, _ := p.apply(so, a); a.written && report.GetRefused() > 0 { //nolint:errcheck // it was carried out
			b.WriteString(patchLines(report))
		}
		so = p.next(so, a)
	}
	return b.String()
}

// materialize makes the file and its record, with no model. What cannot be made is left
// out feature by feature, and said in the record and in the outcome.
func (p *paper) materialize() (*loomv1.Outcome, error) {
	data, err := readIn(p.dir, p.files.Spec)
	if err != nil {
		return nil, err
	}
	spec, err := document.Read(p.files.Spec, data, "")
	if err != nil {
		return p.failure(err, "change"), nil
	}
	made, err := office.Make(spec, p.format, office.Options{Style: p.own.style, Carry: document.Canonical(spec), Image: p.image})
	if err != nil {
		return p.failure(err, "change"), nil
	}
	name := p.artifact + "." + made.Format
	old, err := readIn(p.dir, name)
	if err != nil {
		return nil, err
	}
	if text, err := readIn(p.dir, p.files.Record); err != nil {
		return nil, err
	} else if r, state := document.StateOf(old, text); old != nil && (state != document.AsMade || r.ArtifactId != baseName(name)) {
		return p.failure(fault.New("document/changed", "there is such a file already, which is not the one of its record").At(name).Want("move it away"), "change"), nil
	}
	written, err := p.written()
	if err != nil {
		return nil, err
	}
	making := document.Making{
		Artifact: baseName(name), Format: made.Format, Spec: spec, Outline: p.outline(), Report: p.report(spec), Data: made.Data,
		Downgrades: made.Downgrades, Written: written, Project: p.brief.Project.GetId(), Path: p.files.File, At: time.Now().UTC().Format(time.RFC3339),
	}
	if carried, err := office.Open(old); old != nil && err == nil {
		making.Before, _ = document.Read(name, carried, "")
	}
	record := document.NewRecord(making)
	if err := p.write(name, made.Data); err != nil {
		return nil, err
	}
	if err := p.write(p.files.Record, document.JSON(record)); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("%s: %d bytes, %d nodes", name, len(made.Data), record.GetSemanticNodes())
	if len(made.Downgrades) > 0 {
		summary += fmt.Sprintf(", %d downgrades", len(made.Downgrades))
	}
	notes := fmt.Sprintf("%s (%d bytes)\n%s", name, len(made.Data), strings.Join(made.Downgrades, "\n"))
	out := p.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, summary, strings.TrimSpace(notes), map[string]any{
		"file": name, "downgrades": len(made.Downgrades),
	})
	out.Document = p.shown(name, spec, record)
	return out, nil
}

// shown is a document for people who are asked about it.
func (p *paper) shown(name string, spec proto.Message, record *loomv1.ArtifactRecord) *loomv1.ShownDocument {
	const mostText, mostChanges, mostLine = 6 << 10, 40, 200
	d := &loomv1.ShownDocument{File: name, FileHash: record.FileHash, SpecHash: record.SpecHash}
	if r, err := office.Render(spec, "md", office.Options{}); err == nil {
		d.Preview = text(string(r.Data))
	}
	if len(d.Preview) > mostText {
		d.Preview, d.Cut = strings.ToValidUTF8(d.Preview[:mostText], ""), true
	}
	if p.before == nil {
		return d
	}
	patches, err := document.Diff(p.before, spec)
	if err != nil {
		d.Changes = []string{"it is another kind of document than before"}
		return d
	}
	for i, x := range patches {
		if i == mostChanges {
			d.Changes = append(d.Changes, fmt.Sprintf("and %d more", len(patches)-mostChanges))
			break
		}
		value, _ := x.Value.MarshalJSON() //nolint:errcheck // a value that came of JSON
		d.Changes = append(d.Changes, cut(strings.TrimSpace(fmt.Sprintf("%s %s %s", x.Action, x.Target, text(string(value)))), mostLine))
	}
	return d
}

// written are the hashes of what stands beside the file.
func (p *paper) written() (*loomv1.WrittenArtifacts, error) {
	artifacts := map[string][]byte{}
	for name, file := range p.files.Artifacts() {
		data, err := readIn(p.dir, file)
		if err != nil {
			return nil, err
		}
		artifacts[name] = data
	}
	return document.Written(artifacts), nil
}

// image reads a picture of the workspace.
func (p *paper) image(name string) ([]byte, error) {
	const most = 20 << 20
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("more than %d MiB", most>>20)
	}
	return data, err
}

// report is the review of the spec in the workspace, or, where that is about another
// one, what the rules say now.
func (p *paper) report(spec proto.Message) *loomv1.ReviewReport {
	if data, err := readIn(p.dir, p.files.Review); err == nil && data != nil {
		if m, err := document.Read(p.files.Review, data, "review"); err == nil {
			if r, _ := m.(*loomv1.ReviewReport); r.SpecHash == document.Hash(spec) {
				return r
			}
		}
	}
	return p.byRules(spec)
}

// postlog has the project remember that there is the document. It changes no file.
func (p *paper) postlog(ctx context.Context) (*loomv1.Outcome, error) {
	dir, done, err := p.proposed(ctx, "")
	if err != nil {
		return nil, err
	}
	defer done()
	data, err := readIn(dir, p.files.Record)
	if err != nil {
		return nil, err
	}
	m, err := document.Read(p.files.Record, data, "record")
	if err != nil {
		return p.failure(err, "change"), nil
	}
	record, _ := m.(*loomv1.ArtifactRecord)
	return p.keep(ctx, record)
}

// keep has the project remember all that there is to say of a document or, where that
// cannot be kept, its name and hash.
func (p *paper) keep(ctx context.Context, record *loomv1.ArtifactRecord) (*loomv1.Outcome, error) {
	file := p.artifact + "." + record.Kind
	_, err := memories{p.job}.Keep(ctx, "postlog", &loomv1.MemoryEntry{
		Type: "artifact", Layer: loomv1.MemoryLayer_MEMORY_LAYER_DURABLE, Tags: []string{"document", record.Kind},
		Text: remembered(file, record),
	})
	switch {
	case err == nil:
		return p.success(record.ArtifactId+" is remembered", ""), nil
	case ctx.Err() != nil || errors.Is(err, actors.ErrParked) || notOurs[fault.Code(err)]:
		return nil, err
	}
	_, less := memories{p.job}.Keep(ctx, "postlog-subset", &loomv1.MemoryEntry{
		Type: "artifact", Layer: loomv1.MemoryLayer_MEMORY_LAYER_DURABLE, Text: fmt.Sprintf("Document %s was made, of the spec %s.", file, record.SpecHash),
	})
	why := fault.From(err).Error()
	if less != nil {
		return p.failure(less, ""), nil
	}
	return p.success(record.ArtifactId+" is remembered by its name and hash alone", "The rest could not be kept: "+why), nil
}

// remembered says that there is a document, in what the runtime itself knows of it: what
// the document says may come from anywhere, and is not what a project goes by unasked.
func remembered(file string, r *loomv1.ArtifactRecord) string {
	return fmt.Sprintf("Document %s was made, with %d nodes and %d downgrades, of the spec %s. %.0f%% of its nodes are new (%s); the review has %d findings.",
		file, r.GetSemanticNodes(), len(r.Downgrades), r.SpecHash, 100*r.GetChangeRatio(), r.Mode, r.GetReviewMetrics().GetFindings())
}
