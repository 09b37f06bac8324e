package why

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (s *whyStory) text(w io.Writer) {
	l := s.line
	fmt.Fprintf(w, "%s:%d\n  %s\n\n", console.Line(l.Path, 200), l.Number, console.Line(l.Text, 200))
	if l.Origin == nil {
		fmt.Fprintf(w, "not committed: %s does not have this line of your checkout\n", console.Line(l.Rev, 80))
		return
	}
	commitText(w, l.Origin)
	switch {
	case l.Origin.Claim == nil:
		fmt.Fprintf(w, "not made by Loom: commit %.12s by %s\n", l.Origin.Commit, console.Line(l.Origin.Author, 80))
	case s.doubt != "":
		fmt.Fprintf(w, "Loom cannot vouch for it: %s\n", console.Line(s.doubt, 300))
	default:
		s.origin(w)
	}
}

// row writes a line under a head.
func row(w io.Writer, head, format string, args ...any) {
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s ", head)+fmt.Sprintf(format, args...), " "))
}

func commitText(w io.Writer, o *git.Origin) {
	row(w, "commit", "%s", o.Commit)
	row(w, "", "%s", console.Line(o.Subject, 200))
	row(w, "", "%s, written by %s, committed by %s", o.Time.Local().Format("2006-01-02 15:04:05"), console.Line(o.Author, 80), console.Line(o.Committer, 80))
	if o.Boundary && o.Claim == nil {
		row(w, "", "history ends here; the line may be older")
	}
}

// origin tells the story of a commit that the records vouch for.
func (s *whyStory) origin(w io.Writer) {
	x, b := s.execution, s.bead
	row(w, "asked for", "%s (%s): %s", b.Id, project.Word(b.Type), console.Line(b.Goal, 300))
	row(w, "", "filed %s by %s", console.Stamp(b.CreatedAt), console.Who(b.FiledBy))
	for _, d := range s.decisions {
		d.text(w)
	}
	if p := s.approval; p != nil {
		row(w, approval.Answered(p.Decision), "%s by %s, %s", p.Id, console.Who(p.DecidedBy), console.Stamp(p.DecidedAt))
		if p.Comment != "" {
			row(w, "", "%s", console.Line(p.Comment, 300))
		}
	}
	if at := s.verification(); at != nil {
		row(w, "verified", "by %s, %s: %s", console.Dash(at.Claimant.GetAgent()), console.Stamp(at.EndedAt), console.Line(at.Outcome.GetSummary(), 200))
		for _, r := range at.Outcome.Checks {
			row(w, "", "passed on this commit: %s", console.Line(r.Command, 160))
		}
	} else {
		row(w, "verified", "no check is on record for this commit")
	}
	if l := x.Landing; l != nil {
		row(w, "landed", "on %s, token %d", console.Line(l.Ref, 120), l.Token)
		if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED && x.EndedAt != nil {
			row(w, "", "though its work was ended: %s, %s", console.Stamp(x.EndedAt), console.Line(x.Reason, 200))
		}
	} else {
		row(w, "landed", "not yet")
	}
	for i, at := range s.attempts() {
		row(w, map[bool]string{true: "work"}[i == 0], "%s %s: %s", at.Node, console.Dash(at.Claimant.GetAgent()), console.Line(at.Outcome.GetSummary(), 120))
	}
	row(w, "cost", "%d model calls, tokens %d in and %d out, %s", x.ModelCalls, x.Usage.GetInputTokens(), x.Usage.GetOutputTokens(), execution.Cost(x))
	row(w, "more", "loom execution history %s; loom graph narrative %s", x.Id, b.Id)
}

func (d choice) text(w io.Writer) {
	row(w, "decided", "%s %s (%d%%), %s, %s", d.Id, console.Line(d.Title, 200), d.Confidence, console.Who(d.Author), console.Stamp(d.Time))
	for _, group := range []struct {
		word    string
		options []option
	}{{"chosen", d.chosen}, {"rejected", d.rejected}} {
		for _, o := range group.options {
			because := ""
			if o.rationale != "" {
				because = ", because " + console.Line(o.rationale, 200)
			}
			row(w, "", "%s %s: %s%s", group.word, o.Id, console.Line(o.Title, 160), because)
		}
	}
}

// whyJSON is a story for programs; what is not known is left out.
type whyJSON struct {
	Path      string          `json:"path"`
	Line      int             `json:"line"`
	Text      string          `json:"text"`
	Rev       string          `json:"rev"`
	Commit    string          `json:"commit,omitempty"`
	Subject   string          `json:"subject,omitempty"`
	Author    string          `json:"author,omitempty"`
	Committer string          `json:"committer,omitempty"`
	Time      string          `json:"time,omitempty"`
	Token     uint64          `json:"token,omitempty,string"`
	Loom      bool            `json:"loom"` // whether the records vouch for it
	Doubt     string          `json:"doubt,omitempty"`
	Bead      json.RawMessage `json:"bead,omitempty"`
	Execution json.RawMessage `json:"execution,omitempty"`
	Approval  json.RawMessage `json:"approval,omitempty"`
	Decisions []choiceJSON    `json:"decisions,omitempty"`
}

type choiceJSON struct {
	Decision json.RawMessage `json:"decision"`
	Chosen   []optionJSON    `json:"chosen,omitempty"`
	Rejected []optionJSON    `json:"rejected,omitempty"`
}

type optionJSON struct {
	Option    json.RawMessage `json:"option"`
	Rationale string          `json:"rationale,omitempty"`
}

func (s *whyStory) json() whyJSON {
	l := s.line
	j := whyJSON{Path: l.Path, Line: l.Number, Text: l.Text, Rev: l.Rev, Doubt: s.doubt, Loom: s.execution != nil}
	if o := l.Origin; o != nil {
		j.Commit, j.Subject, j.Author, j.Committer, j.Time = o.Commit, o.Subject, o.Author, o.Committer, o.Time.Format("2006-01-02T15:04:05Z")
		if o.Claim != nil {
			j.Token = o.Claim.Token
		}
	}
	j.Bead, j.Execution, j.Approval = known(s.bead), known(s.execution), known(s.approval)
	for _, d := range s.decisions {
		j.Decisions = append(j.Decisions, choiceJSON{console.JSONOf(d.DecisionNode), optionsJSON(d.chosen), optionsJSON(d.rejected)})
	}
	return j
}

func optionsJSON(options []option) []optionJSON {
	var all []optionJSON
	for _, o := range options {
		all = append(all, optionJSON{console.JSONOf(o.DecisionNode), o.rationale})
	}
	return all
}

// known is jsonOf for a message that may be nil.
func known(m proto.Message) json.RawMessage {
	if !m.ProtoReflect().IsValid() {
		return nil
	}
	return console.JSONOf(m)
}
