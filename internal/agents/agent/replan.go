package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// digestDigits is how much of a SHA-256 an outcome has of what was read.
const digestDigits = 16

// changeThemselves are tools whose sources are another text each time that they are read.
var changeThemselves = []string{"web_feed"}

// planAnew says in the outcome of a phase that may ask for that why the phases to come are
// to be planned anew, unless its agent has said so.
func (j *job) planAnew(out *loomv1.Outcome, why string) {
	said, may := out.Fields.GetFields()[workflow.ReplanField].GetKind().(*structpb.Value_StringValue)
	if may && j.brief.Node.Outcome[workflow.ReplanField] == "string" && strings.TrimSpace(said.StringValue) == "" {
		out.Fields.Fields[workflow.ReplanField] = structpb.NewStringValue(cut(text(why), 400))
	}
}

// planAnewByRules asks for another plan where a rule is broken that says so.
func (j *job) planAnewByRules(out *loomv1.Outcome, found []verify.Finding) {
	for _, f := range found {
		if slices.ContainsFunc(j.rules(), func(r *loomv1.Rule) bool { return r.Replans && r.Name == f.Rule }) {
			j.planAnew(out, f.String())
			return
		}
	}
}

// planAnewBySources asks for another plan where a source is no longer what a phase before
// has read. The notes tell of it in any case.
func (j *job) planAnewBySources(out *loomv1.Outcome) {
	changed := j.changedSources(out)
	if len(changed) == 0 {
		return
	}
	told := strings.Join(changed[:min(len(changed), mostNamed)], "\n")
	out.Notes = text(strings.TrimSpace(out.Notes + "\n" + told))
	j.planAnew(out, changed[0])
}

// changedSources tells which sources of an outcome had other words when another phase read
// them, sorted.
func (j *job) changedSources(out *loomv1.Outcome) (list []string) {
	nodes := j.brief.Execution.GetNodes()
	for i, address := range out.GetSources() {
		now := digestAt(out, i)
		for _, id := range slices.Sorted(maps.Keys(nodes)) {
			was := nodes[id].GetOutcome()
			if id == j.brief.Attempt.Node || now == "" {
				continue
			}
			for k, a := range was.GetSources() {
				if d := digestAt(was, k); verify.SameAddress(a, address) && d != "" && d != now {
					list = append(list, fmt.Sprintf("changed: %s is not what phase %s has read", address, id))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func digestAt(out *loomv1.Outcome, i int) string {
	if list := out.GetSourceDigests(); i < len(list) {
		return list[i]
	}
	return ""
}

// noteSources says in an outcome what tools have read in the turn, for work of a process.
func (r *run) noteSources(out *loomv1.Outcome) {
	out.Sources, out.SourceDigests = nil, nil
	if r.brief.Node.Phase == nil {
		return
	}
	for _, s := range r.t.Steps {
		for _, read := range s.GetTool().GetResult().GetRead() {
			digest := ""
			if !slices.Contains(changeThemselves, s.GetTool().GetCall().GetTool()) {
				digest = cmp.Or(read.Text.GetSha256(), read.Sha256)
				digest = digest[:min(len(digest), digestDigits)]
			}
			if at := slices.Index(out.Sources, read.Address); at >= 0 {
				out.SourceDigests[at] = digest
			} else if len(out.Sources) < workflow.MaxSources && len(read.Address) <= workflow.SourceBytes {
				out.Sources, out.SourceDigests = append(out.Sources, read.Address), append(out.SourceDigests, digest)
			}
		}
	}
}

// mostOffered is how many addresses a prompt has that others of the run have read.
const mostOffered = 60

// read offers what others of the run have read: it may be cited without being fetched again.
func (p *prompt) read(b *loomv1.Brief) {
	if !isWork(b.Node) {
		return
	}
	var lines []string
	named := map[string]bool{}
	for _, n := range b.Definition.GetNodes() {
		if n.Id == b.Attempt.Node {
			continue
		}
		for _, a := range b.Execution.Nodes[n.Id].GetOutcome().GetSources() {
			if !named[a] {
				named[a] = true
				lines = append(lines, a+", read in "+n.Id)
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	p.section("Read in this run")
	p.WriteString("Others have read these addresses, and a citation may name them. Fetch one again where you need its words; where it has other words by now, that is told:\n")
	if more := len(lines) - mostOffered; more > 0 {
		lines = append(lines[:mostOffered], fmt.Sprintf("and %d more", more))
	}
	p.data(strings.Join(lines, "\n"))
	p.WriteByte('\n')
}
