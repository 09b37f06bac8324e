package errand

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/sourcelist"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// View is where an errand shows itself and asks.
type View interface {
	// Say tells of a step of the errand itself.
	Say(text string)
	// Event tells of one event.
	Event(n *loomv1.Notice)
	// Decide asks the CEO. With [ErrLater] the question stays open and the errand
	// ends; any other error ends it too.
	Decide(ctx context.Context, a *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error)
}

// ErrLater leaves a question to be answered later.
var ErrLater = errors.New("to be answered later")

// Options says what to do, where, and with what.
type Options struct {
	// Config is how the host runs. Its projects and addresses are set here; for a
	// script it asks no language servers unless it names some.
	Config host.Config
	// Project has what the workspace's project is registered with, beside its id,
	// repository and branch, which are set here.
	Project host.Project
	// Workspace is the directory to work in, and Out the one to write to; empty
	// means the workspace.
	Workspace, Out string
	// Submission has goal and process; its project is set here.
	Submission *loomv1.Submission
	// Prepared is called once there is a data directory, before the goal is filed.
	// Nil does nothing.
	Prepared func(ctx context.Context) error
	// Left is told of the beads of the data directory that have not ended when the goal is
	// filed, and are not what it goes on with: nothing of them is worked on in this run.
	// It is told of the errand's project and repository. Nil is told nothing.
	Left func(here *Result, beads []*loomv1.Bead)
	View View
}

// Result is what an errand ends with.
type Result struct {
	Project   string `json:"project"`
	Bead      string `json:"bead"`
	Execution string `json:"execution"`
	// Status is the execution's, as a word: completed_with_gaps where Gaps says
	// what was delivered lacks, and waiting where a person must decide.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Waits is true when a person must decide before work goes on.
	Waits bool     `json:"waits,omitempty"`
	Files []File   `json:"files"`
	Gaps  []string `json:"gaps,omitempty"`
	// After is what was done after the end, for whose failure nothing is missing.
	After []*AfterWork `json:"after,omitempty"`
	// Index is where the list of what was made stands; empty where none was written.
	Index string `json:"index,omitempty"`
	// Sources are what was read outside of the workspace, for this work and what worked
	// for it.
	Sources    []sourcelist.Entry `json:"sources,omitempty"`
	Commit     string             `json:"commit,omitempty"`
	Repository string             `json:"repository"`
	Scripted   bool               `json:"scripted"`
	ModelCalls uint32             `json:"model_calls"`
	Tokens     uint64             `json:"tokens"`
	MicroUSD   uint64             `json:"cost_micro_usd"`

	View       *loomv1.Execution    `json:"-"`
	Definition *loomv1.Definition   `json:"-"`
	History    []*loomv1.Transition `json:"-"`
}

// errand is one under way.
type errand struct {
	Options
	ws     *workspace
	host   *host.Host
	client *client.Client
	ceo    *client.Client
	key    *ceokey.Key
	bead   string
	waits  bool
	record *provenance.Record
	others others
	// when this run of it began, beside what an earlier one has left
	started time.Time
}

// Run runs an errand to its end, or until it waits for a person. Work that was
// cut off is taken up when the same is run again on the same data directory
// with the same idempotency key. With an error it returns what goes on when a host
// starts on the data directory again, or nil.
func Run(ctx context.Context, o Options) (*Result, error) {
	e := &errand{Options: o, started: time.Now(), others: others{known: make(chan struct{})}}
	defer e.close()
	for _, step := range []func(context.Context) error{e.start, e.submit, e.follow} {
		if err := step(ctx); err != nil {
			return e.begun(), err
		}
	}
	return e.result(ctx)
}

// begun is what was filed and has not ended, or nil.
func (e *errand) begun() *Result {
	if e.bead == "" {
		return nil
	}
	return &Result{Project: e.ws.id, Bead: e.bead, Repository: e.ws.repository, Status: "open"}
}

func (e *errand) start(ctx context.Context) (err error) {
	if e.ws, err = open(ctx, e.Workspace, e.Config.Data); err != nil {
		return err
	}
	if err := e.checkOut(); err != nil {
		return err
	}
	p, c := e.Project, e.Config
	p.ID, p.Repository = e.ws.id, e.ws.repository
	if e.ws.own {
		p.Branch = Branch
	}
	if c.LanguageServers == nil {
		c.LanguageServers = host.LanguageServersFor(c.Model)
	}
	c.Projects, c.Listen, c.HTTP, c.Held = []host.Project{p}, "", "", e.others.held
	e.host, err = host.Start(ctx, c)
	if err != nil {
		return err
	}
	if e.Prepared != nil {
		if err = e.Prepared(ctx); err != nil {
			return err
		}
	}
	if e.client, err = e.connect("operator"); err != nil {
		return err
	}
	e.ceo, err = e.connect("ceo")
	return err
}

func (e *errand) connect(as string) (*client.Client, error) {
	nc, err := e.host.Connect(as)
	if err != nil {
		return nil, err
	}
	return client.New(nc), nil
}

func (e *errand) submit(ctx context.Context) error {
	e.Submission.Project = e.ws.id
	unfinished, err := e.unfinished(ctx)
	if err != nil {
		return err
	}
	reply, err := e.client.Submit(ctx, e.Submission)
	if err != nil {
		return err
	}
	e.bead, e.record = reply.Bead, provenance.Of(reply.Bead)
	left := e.others.hold(unfinished, e.bead)
	if e.Left != nil && len(left) > 0 {
		e.Left(&Result{Project: e.ws.id, Repository: e.ws.repository}, left)
	}
	e.View.Say(map[bool]string{false: "filed ", true: "going on with "}[reply.Duplicate] + reply.Bead + " for process " + e.Submission.Process)
	return nil
}

var errOver = errors.New("over")

// follow shows every event and answers approvals until the bead rests.
func (e *errand) follow(ctx context.Context) error {
	err := e.client.Follow(ctx, &loomv1.NoticesRequest{Project: e.ws.id}, true, func(n *loomv1.Notice) error {
		if !e.record.Add(n.Event) {
			return nil // other work of the directory is nobody's business here
		}
		e.View.Event(n)
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_AttemptParked:
			if b := f.AttemptParked.Block; b != nil && n.Event.Time.AsTime().After(e.started) {
				return fault.New(b.Code, "%s", b.Message).Want("%s", b.Remedy)
			}
		case *loomv1.Event_ApprovalRequested:
			return e.decide(ctx, f.ApprovalRequested.Approval.Id)
		case *loomv1.Event_BeadStatusChanged:
			if n.Event.Bead == e.bead {
				return e.standing(ctx)
			}
		}
		return nil
	})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// standing ends the errand when its bead has.
func (e *errand) standing(ctx context.Context) error {
	v, err := e.client.Bead(ctx, &loomv1.Query{Project: e.ws.id, Id: e.bead})
	if err != nil {
		return err
	}
	if ended(v.Beads[0].Status) {
		return errOver
	}
	return nil
}

// decide asks the CEO, signs the answer and presents it.
func (e *errand) decide(ctx context.Context, id string) error {
	v, err := e.client.Inbox(ctx, &loomv1.Query{Project: e.ws.id, Id: id})
	if err != nil {
		return err
	}
	a := v.Approvals[0]
	if a.DecidedAt != nil {
		return nil
	}
	if err := workflow.CheckShown(a, v.Diff); err != nil {
		return err
	}
	decision, comment, err := e.View.Decide(ctx, a, v.Diff)
	if errors.Is(err, ErrLater) {
		e.waits = true
		return errOver
	}
	if err != nil {
		return err
	}
	if e.key == nil {
		if e.key, err = e.openKey(); err != nil {
			return err
		}
	}
	cmd, err := e.key.Decide(e.host.Deployment(), e.ws.id, &loomv1.DecideApproval{Approval: id, Digest: a.Digest, Decision: decision, Comment: comment})
	if err != nil {
		return err
	}
	return e.ceo.Present(ctx, "decide", cmd)
}

func (e *errand) openKey() (*ceokey.Key, error) {
	path := e.Config.CEOKey
	if path == "" {
		var err error
		if path, err = ceokey.DefaultPath(); err != nil {
			return nil, err
		}
	}
	return ceokey.Open(path)
}

func (e *errand) result(ctx context.Context) (*Result, error) {
	r := &Result{Project: e.ws.id, Bead: e.bead, Waits: e.waits, Repository: e.ws.repository, Status: "open"}
	if err := e.readAll(ctx); err != nil {
		return nil, err
	}
	r.Sources = e.record.Sources()
	v, err := e.client.Execution(ctx, &loomv1.Query{Project: e.ws.id, Id: e.bead})
	if err != nil {
		if e.waits || fault.Code(err) == "execution/unknown" {
			return r, nil
		}
		return nil, err
	}
	x := v.Executions[0]
	r.Definition = v.Definition
	r.View, r.Execution, r.Status, r.Reason, r.Commit = x, x.Id, project.Word(x.Status), x.Reason, x.Landing.GetCommit()
	if e.waits {
		r.Status = "waiting"
	}
	r.Scripted, r.ModelCalls = x.Scripted, x.ModelCalls
	r.Tokens, r.MicroUSD = x.Usage.GetInputTokens()+x.Usage.GetOutputTokens(), x.Usage.GetCostMicroUsd()
	for _, g := range x.Gaps {
		r.Gaps = append(r.Gaps, g.Node+": "+g.Reason)
	}
	history, err := e.client.History(ctx, &loomv1.HistoryRequest{Execution: x.Id})
	if err != nil {
		return nil, err
	}
	r.History = history.Transitions
	if workflow.Delivered(x.Status) {
		names := promised(v.Definition, x)
		for _, f := range workflow.Standing(x).GetFiles() { // also what an earlier run has brought back
			names[f.Path] = true
		}
		r.Files, err = e.deliver(names)
		mark(r.Files, unverified(v.Definition, x))
		e.index(r)
	}
	r.After = e.afterwards(ctx, x)
	return r, err
}

// readAll has the sources of the whole record: work that had ended already is not followed
// to its end.
func (e *errand) readAll(ctx context.Context) error {
	e.record = provenance.Of(e.bead)
	q := &loomv1.NoticesRequest{Project: e.ws.id, Kinds: provenance.Kinds()}
	return e.client.Follow(ctx, q, false, func(n *loomv1.Notice) error {
		e.record.Add(n.Event)
		return nil
	})
}

// promised returns the files that phases which came to a good end have
// delivered, whether or not they are new.
func promised(def *loomv1.Definition, x *loomv1.Execution) map[string]bool {
	names := map[string]bool{}
	for _, n := range def.GetNodes() {
		if x.Nodes[n.Id].GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
			continue
		}
		phase, err := verify.InContext(n.Phase, x.Context)
		if err != nil {
			continue
		}
		for _, d := range verify.Deliverables(phase) {
			names[d.Name] = true
		}
	}
	return names
}

// deliver writes what was delivered to where it is wanted. A repository of the
// person's own has it already.
func (e *errand) deliver(promised map[string]bool) ([]File, error) {
	out := e.into()
	if out == "" {
		return nil, nil
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	return e.ws.bring(out, promised)
}

// into is the directory that what was delivered is written to, "" for none.
func (e *errand) into() string {
	if e.Out == "" && e.ws.own {
		return e.ws.dir
	}
	return e.Out
}

// stopWithin bounds a clean stop.
const stopWithin = 20 * time.Second

func (e *errand) close() {
	for _, c := range []*client.Client{e.client, e.ceo} {
		if c != nil {
			c.Close()
		}
	}
	if e.host != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		e.host.Stop(ctx)
		if broken := e.host.BrokenOff(); broken != "" {
			e.View.Say(broken)
		}
	}
}
