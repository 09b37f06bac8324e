package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// projectID is the demo's project.
const projectID = "demo"

// View is where a demo shows itself and asks.
type View interface {
	// Say tells of a step of the demo itself.
	Say(text string)
	// Event tells of one event.
	Event(n *loomv1.Notice)
	// Decide asks the CEO. An error ends the demo.
	Decide(ctx context.Context, a *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error)
}

// Options says how to run the demo.
type Options struct {
	// Keep is the directory to work in, which stays. Empty means a temporary
	// one. A demo that was cut off goes on when it is run there again.
	Keep string

	// Listen is the host's address for other clients. Empty means none.
	Listen string

	// Model answers for the agents.
	Model model.Provider

	// Tape records what models answer and what tools give. Nil records nothing.
	Tape *recording.Writer

	// BeadBudget and DayBudget are those of a host. Nil bounds nothing.
	BeadBudget, DayBudget *loomv1.Budget

	// Secrets are values, "NAME=VALUE" each, that go into no prompt, event or change.
	Secrets []string

	// Unsandboxed lets tools run on this machine as it is. The scripted demo
	// runs its own repository's tools in any case, also where there is no
	// sandbox.
	Unsandboxed bool

	// Logger receives what the host has to say. Nil discards it.
	Logger *slog.Logger

	View View
}

// Result is what a demo ends with.
type Result struct {
	Bead        string `json:"bead"`
	Execution   string `json:"execution"`
	Status      string `json:"status"`
	Commit      string `json:"commit"`
	Verified    bool   `json:"verified"`
	Landed      bool   `json:"landed"`
	Transitions uint32 `json:"transitions"`
	Model       string `json:"model"`
	Scripted    bool   `json:"scripted"`
	Tokens      uint64 `json:"tokens"`
	MicroUSD    uint64 `json:"cost_micro_usd"`
	Times       Times  `json:"times"`
	Resumed     bool   `json:"resumed"` // it went on from an earlier run, so Times are zero
	Repository  string `json:"repository"`
	Data        string `json:"data"`

	Patch      string                `json:"-"` // the commit as text
	View       *loomv1.Execution     `json:"-"`
	Definition *loomv1.Definition    `json:"-"`
	History    []*loomv1.Transition  `json:"-"`
	Graph      *loomv1.DecisionGraph `json:"-"`
}

// Times says where the time went, in milliseconds.
type Times struct {
	FirstNotice float64 `json:"start_to_first_notice_ms"`
	Whole       float64 `json:"report_to_end_ms"`
	Tools       float64 `json:"tools_ms"`
	Git         float64 `json:"git_and_hooks_ms"`
	CEO         float64 `json:"approval_ms"`
	Own         float64 `json:"own_ms"`
}

// demo is a demo under way.
type demo struct {
	Options
	dir, repo, data string
	host            *host.Host
	client          *client.Client
	ceo             *client.Client
	key             *ceokey.Key
	watch           *stopwatch
	first           time.Duration
	began           time.Time // this run, perhaps of an earlier demo
	reported        time.Time
	bead            string
	execution       string
	ended           *loomv1.Event
	resumed         bool
}

// Run runs the demo to its end. The result tells how the work ended, also
// beside an error.
func Run(ctx context.Context, o Options) (*Result, error) {
	d := &demo{Options: o, watch: newStopwatch()}
	defer d.close()
	for _, step := range []func(context.Context) error{d.prepare, d.start, d.report, d.follow} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return d.result(ctx)
}

func (d *demo) prepare(ctx context.Context) error {
	if d.Keep == "" {
		dir, err := os.MkdirTemp("", "loom-demo-")
		if err != nil {
			return err
		}
		d.dir = dir
	} else {
		dir, err := filepath.Abs(d.Keep)
		if err != nil {
			return err
		}
		d.dir = dir
	}
	d.repo, d.data = filepath.Join(d.dir, "shop"), filepath.Join(d.dir, "data")
	if err := MakeRepository(ctx, d.repo); err != nil {
		return err
	}
	d.View.Say(fmt.Sprintf("repository %s: a small Go module with a bug, a failing test and a pre-commit hook (gofmt, go vet)", d.repo))
	return nil
}

func (d *demo) start(ctx context.Context) error {
	begun := time.Now()
	d.began = begun
	keyFile := filepath.Join(d.dir, "ceo.nk")
	h, err := host.Start(ctx, host.Config{
		LanguageServers: host.LanguageServersFor(d.Model),
		Data:            d.data, Listen: d.Listen, Model: d.Model, CEOKey: keyFile, Logger: d.Logger, Tape: d.Tape, Secrets: d.Secrets,
		BeadBudget: d.BeadBudget, DayBudget: d.DayBudget,
		Projects:    []host.Project{{ID: projectID, Repository: d.repo, Branch: Branch}},
		Unsandboxed: d.Unsandboxed || d.Model.Scripted() && recording.PlayedBy(d.Model) == nil && !isolation.CanSandbox(),
	})
	if err != nil {
		return err
	}
	d.host = h
	if d.key, err = ceokey.Open(keyFile); err != nil {
		return err
	}
	if d.client, err = d.connect("operator"); err != nil {
		return err
	}
	if d.ceo, err = d.connect("ceo"); err != nil {
		return err
	}
	where := "no port is open"
	if url := h.URL(); url != "" {
		where = "clients connect to " + url
	}
	d.View.Say(fmt.Sprintf("host up in %d ms: embedded NATS with fsync on every acknowledged write (proven), SQLite; %s", time.Since(begun).Milliseconds(), where))
	return d.noteFirst(begun)
}

func (d *demo) connect(as string) (*client.Client, error) {
	nc, err := d.host.Connect(as)
	if err != nil {
		return nil, err
	}
	return client.New(nc), nil
}

// noteFirst measures the time from the host's start to the first notice that
// an observer receives.
func (d *demo) noteFirst(begun time.Time) error {
	nc, err := d.host.Connect("anonymous")
	if err != nil {
		return err
	}
	sub, err := nc.Subscribe(subject.EveryNotice(), func(*nats.Msg) {
		if d.first == 0 {
			d.first = time.Since(begun)
			nc.Close()
		}
	})
	if err != nil {
		return err
	}
	_ = sub
	return nc.Flush()
}

// report publishes the error report as the failing service would: with plain
// NATS, as a client without credentials, and waits for the broker's promise.
func (d *demo) report(ctx context.Context) error {
	nc, err := d.host.Connect("anonymous")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(subject.Error(subject.Must("checkout")))
	msg.Data = Report()
	msg.Header.Set("Content-Type", "application/json")
	msg.Header.Set(nats.MsgIdHdr, "demo-report")
	d.reported = time.Now()
	if _, err := js.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("error report: %w", err)
	}
	d.View.Say("service \"checkout\" published an error report on " + msg.Subject)
	return nil
}

var errEnded = errors.New("execution ended")

// follow shows every event and answers approvals until the execution ends.
func (d *demo) follow(ctx context.Context) error {
	err := d.client.Follow(ctx, &loomv1.NoticesRequest{Project: projectID}, true, func(n *loomv1.Notice) error {
		d.watch.see(n.Event)
		d.View.Event(n)
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_ExecutionStarted:
			d.bead, d.execution = n.Event.Bead, n.Event.Execution
			d.resumed = n.Event.Time.AsTime().Before(d.reported)
		case *loomv1.Event_AttemptParked:
			if b := f.AttemptParked.Block; b != nil && n.Event.Time.AsTime().After(d.began) {
				return fault.New(b.Code, "%s", b.Message).Want("%s", b.Remedy)
			}
		case *loomv1.Event_ApprovalRequested:
			return d.decide(ctx, f.ApprovalRequested.Approval.Id)
		case *loomv1.Event_ExecutionEnded:
			d.ended = n.Event
			return errEnded
		}
		return nil
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// decide asks the CEO, signs the answer and presents it. An approval that was
// answered before a restart is left alone.
func (d *demo) decide(ctx context.Context, id string) error {
	v, err := d.client.Inbox(ctx, &loomv1.Query{Project: projectID, Id: id})
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
	decision, comment, err := d.View.Decide(ctx, a, v.Diff)
	if err != nil {
		return err
	}
	cmd, err := d.key.Decide(d.host.Deployment(), projectID, &loomv1.DecideApproval{Approval: id, Digest: a.Digest, Decision: decision, Comment: comment})
	if err != nil {
		return err
	}
	return d.ceo.Present(ctx, "decide", cmd)
}

func (d *demo) result(ctx context.Context) (*Result, error) {
	v, err := d.client.Execution(ctx, &loomv1.Query{Project: projectID, Id: d.execution})
	if err != nil {
		return nil, err
	}
	x := v.Executions[0]
	r := &Result{
		Bead: x.Bead, Execution: x.Id, Status: project.Word(x.Status), Transitions: x.Transitions, Model: d.Model.Name(), Scripted: x.Scripted,
		Tokens: x.Usage.GetInputTokens() + x.Usage.GetOutputTokens(), MicroUSD: x.Usage.GetCostMicroUsd(), Times: d.times(), Resumed: d.resumed,
		Repository: d.repo, Data: d.data, View: x, Definition: v.Definition,
	}
	history, err := d.client.History(ctx, &loomv1.HistoryRequest{Execution: x.Id})
	if err != nil {
		return nil, err
	}
	r.History = history.Transitions
	g, err := d.client.Graph(ctx, &loomv1.Query{Project: projectID, Id: x.Bead})
	if err != nil {
		return nil, err
	}
	r.Graph = g.Graph
	return r, d.inspect(ctx, r)
}

// inspect looks at the repository itself: what is on the branch is what counts.
func (d *demo) inspect(ctx context.Context, r *Result) error {
	repo, err := git.Open(ctx, d.repo)
	if err != nil {
		return err
	}
	_, head, err := repo.Branch(ctx, Branch)
	if err != nil {
		return err
	}
	r.Commit = r.View.Landing.GetCommit()
	r.Landed = r.Commit != "" && head == r.Commit
	for _, n := range r.View.Nodes {
		for _, c := range n.Outcome.GetChecks() {
			r.Verified = r.Verified || c.Passed && c.Commit != "" && c.Commit == r.Commit
		}
	}
	if r.Commit != "" {
		r.Patch, err = repo.Show(ctx, r.Commit)
	}
	return err
}

// times says where the time went; a demo that was cut off cannot know.
func (d *demo) times() Times {
	if d.resumed {
		return Times{}
	}
	whole := d.ended.Time.AsTime().Sub(d.reported)
	outside := d.watch.total(inTools, inGit, inCEO)
	ms := func(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }
	return Times{
		FirstNotice: ms(d.first), Whole: ms(whole), Tools: ms(d.watch.total(inTools)), Git: ms(d.watch.total(inGit)),
		CEO: ms(d.watch.total(inCEO)), Own: ms(whole - outside),
	}
}

func (d *demo) close() {
	for _, c := range []*client.Client{d.client, d.ceo} {
		if c != nil {
			c.Close()
		}
	}
	if d.host != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		d.host.Stop(ctx)
	}
	if d.Keep == "" && d.dir != "" {
		_ = discard.All(d.dir)
	}
}
