package writing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what a session begins with.
const (
	maxPatternFile  = 256 << 10 // bytes
	maxUsed         = 32        // patterns that one uses as steps
	maxSessionInput = 256 << 10 // bytes
)

// actInSession opens a session of a pattern, or takes what a person says in one. Who may
// say what, the session decides; here it is an operator, as the server has seen.
func (w *Writer) actInSession(ctx context.Context, r *loomv1.IntentRequest, c service.Call) (*loomv1.Answer, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators open sessions of patterns, and speak in them")
	}
	if r.Project == "" {
		r.Project = w.config.Known.Only()
	}
	if err := reading.CheckQuery(project.Sessions, &loomv1.Query{Project: r.Project, Id: r.Session}); err != nil {
		return nil, err
	}
	act := &loomv1.ActInSession{Session: r.Session, Request: r.Request, Command: &loomv1.IntentCommand{}}
	if act.Request == "" { // a command may be sent again on the way to its project
		act.Request = actors.OnceKey(ctx)
	}
	if open := r.GetOpen(); open != nil {
		if err := w.config.Admit(); err != nil {
			return nil, err
		}
		if err := w.openSession(ctx, act, open); err != nil {
			return nil, err
		}
	} else if !said(act.Command, r) {
		return nil, fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	answer, err := w.config.Projects.Do(ctx, &loomv1.Command{Project: r.Project, Actor: c.From, Body: &loomv1.Command_ActInSession{ActInSession: act}})
	if err != nil {
		return nil, w.config.Known.Suggest(err)
	}
	return answer, nil
}

// said makes a command of what a person says in a session, and whether it is one.
func said(cmd *loomv1.IntentCommand, r *loomv1.IntentRequest) bool {
	switch v := r.Verb.(type) {
	case *loomv1.IntentRequest_Answer:
		cmd.Body = &loomv1.IntentCommand_Answer{Answer: v.Answer}
	case *loomv1.IntentRequest_Strike:
		cmd.Body = &loomv1.IntentCommand_Strike{Strike: v.Strike}
	case *loomv1.IntentRequest_Draft:
		cmd.Body = &loomv1.IntentCommand_Draft{Draft: v.Draft}
	case *loomv1.IntentRequest_Seal:
		cmd.Body = &loomv1.IntentCommand_Seal{Seal: v.Seal}
	case *loomv1.IntentRequest_Revise:
		cmd.Body = &loomv1.IntentCommand_Revise{Revise: v.Revise}
	case *loomv1.IntentRequest_Proceed:
		cmd.Body = &loomv1.IntentCommand_Proceed{Proceed: v.Proceed}
	case *loomv1.IntentRequest_Steer:
		cmd.Body = &loomv1.IntentCommand_Steer{Steer: v.Steer}
	case *loomv1.IntentRequest_TakeBack:
		cmd.Body = &loomv1.IntentCommand_TakeBack{TakeBack: v.TakeBack}
	case *loomv1.IntentRequest_Tempo:
		cmd.Body = &loomv1.IntentCommand_SetTempo{SetTempo: v.Tempo}
	case *loomv1.IntentRequest_Abort:
		cmd.Body = &loomv1.IntentCommand_Abort{Abort: v.Abort}
	case *loomv1.IntentRequest_Resume:
		cmd.Body = &loomv1.IntentCommand_Resume{Resume: v.Resume}
	case *loomv1.IntentRequest_Choose:
		cmd.Body = &loomv1.IntentCommand_Choose{Choose: v.Choose}
	}
	return cmd.Body != nil
}

// openSession reads the pattern of a session, and keeps what it starts from.
func (w *Writer) openSession(ctx context.Context, act *loomv1.ActInSession, open *loomv1.OpenPattern) error {
	if act.Session != "" {
		return fault.New("intent/invalid", "a session that is opened gets its id").At("session").Got(act.Session).Want("leave it out")
	}
	if strings.TrimSpace(open.Request) == "" {
		return fault.New("intent/invalid", "a session begins with what is asked for in a sentence").At("request")
	}
	p, err := w.pattern(open)
	if err != nil {
		return err
	}
	act.Command.Body = &loomv1.IntentCommand_Open{Open: &loomv1.OpenSession{Pattern: p, Request: open.Request, WithoutModel: open.WithoutModel || !w.config.AsksModel, WithoutJudge: open.WithoutJudge}}
	declared := map[string]*loomv1.PatternInput{}
	for _, in := range p.Inputs {
		declared[in.Name] = in
	}
	for i, in := range open.Inputs {
		if len(in.GetText()) > maxSessionInput || !utf8.ValidString(in.GetText()) {
			return fault.New("intent/input", "an input is text of at most %d bytes", maxSessionInput).At(fmt.Sprintf("inputs[%d]", i)).Got(in.GetName())
		}
		if err := intent.CheckInput(declared[in.GetName()], in.GetText()); err != nil {
			return err
		}
		ref, err := w.config.Blobs.Put(ctx, []byte(w.config.Secrets.Text(in.GetText())), "text/plain")
		if err != nil {
			return err
		}
		act.Inputs = append(act.Inputs, &loomv1.PreparedInput{Name: in.GetName(), Type: declared[in.GetName()].GetType(), Content: ref})
	}
	return nil
}

// pattern returns the pattern that a session is opened for: one that comes with this
// host, or that a file holds. One that is not sound is refused.
func (w *Writer) pattern(open *loomv1.OpenPattern) (*loomv1.Pattern, error) {
	switch {
	case (open.Pattern == "") == (open.File == ""):
		return nil, fault.New("intent/invalid", "a session has a pattern: by its name, or as the text of its file").At("open")
	case len(open.File) > maxPatternFile:
		return nil, fault.New("intent/invalid", "a pattern file has at most %d bytes", maxPatternFile).At("open/file")
	case len(open.Used) > maxUsed || slices.ContainsFunc(open.Used, func(text string) bool { return len(text) > maxPatternFile }):
		return nil, fault.New("intent/invalid", "a pattern uses at most %d others, of %d bytes each", maxUsed, maxPatternFile).At("open/used")
	case open.File != "":
		var others []processes.PatternText
		for i, text := range open.Used {
			others = append(others, processes.PatternText{File: fmt.Sprintf("used[%d]", i), Data: []byte(text)})
		}
		others = append(others, processes.PatternTexts([]processes.Layer{processes.BuiltinLayer()})...)
		r := processes.ReadPattern("pattern.yaml", []byte(open.File), "", w.config.Roles, others)
		if len(r.Problems) > 0 {
			return nil, fault.Join(r.Problems)
		}
		return r.Pattern, nil
	}
	e, err := processes.FindPattern(processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, w.config.Roles), open.Pattern)
	if err != nil {
		return nil, err
	}
	return e.Pattern, nil
}
