package host

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// call is a request to a service, as it came in.
type call struct {
	subject     string
	contentType string
	data        []byte
	from        *loomv1.Identity
	// projects are all that a sender may read who is narrowed to some; empty means any.
	projects []string
}

// services returns what this host answers, by name.
func (h *Host) services() map[string]func(context.Context, call) proto.Message {
	s := map[string]func(context.Context, call) proto.Message{
		"submit":     h.serveSubmit,
		"report":     h.serveSubmit,
		"update":     h.serveUpdate,
		"notices":    h.serveNotices,
		"history":    h.serveHistory,
		"why":        h.serveWhy,
		"state":      h.serveState,
		"transcript": h.serveTranscript,
		"blobs":      h.serveBlobs,
		"fork":       h.serveFork,
		"say":        h.serveSay,
		"command":    h.serveCommand,
		"respond":    h.serveRespond,
		"ask":        h.serveAsk,
		"decide":     h.serveDecide,
		"remember":   h.serveRemember,
		"metrics":    h.serveMetrics,
		"cost":       h.serveCost,
		"host":       h.serveHost,
		"hosts":      h.serveHosts,
		"cluster":    h.serveCluster,
		"members":    h.serveMembers,
		"scale":      h.serveScale,
		"drain":      h.serveDrain,
		"retention":  h.serveRetention,
		"toolkit":    h.serveToolkit,
		"register":   h.serveRegister,
	}
	for _, v := range project.Views {
		s[string(v)] = func(ctx context.Context, c call) proto.Message { return h.serveView(ctx, v, c) }
	}
	return s
}

func (h *Host) serveSubmit(ctx context.Context, c call) proto.Message {
	if err := h.space.Admit(); err != nil {
		return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
	}
	reply := h.intake.Submit(ctx, actors.Letter{Subject: c.subject, ContentType: c.contentType, Data: c.data, From: c.from})
	if reply.Error != nil {
		reply.Error = fault.From(h.known.Suggest(fault.FromProto(reply.Error))).Proto()
	}
	return reply
}

func (h *Host) serveView(ctx context.Context, v project.View, c call) proto.Message {
	q := &loomv1.Query{}
	if err := actors.Decode(c.contentType, c.data, q); err != nil {
		return &loomv1.View{Error: fault.From(err).Proto()}
	}
	view, err := h.view(ctx, v, q, c.projects)
	if err != nil {
		return &loomv1.View{Error: fault.From(err).Proto()}
	}
	return view
}

// view answers a query of a sender who may read the projects that narrowed names; none
// means all.
func (h *Host) view(ctx context.Context, v project.View, q *loomv1.Query, narrowed []string) (*loomv1.View, error) {
	if v == project.Projects && q.Project == "" {
		return h.listProjects(ctx, q)
	}
	if q.Project == "" {
		q.Project = h.meantProject(v, q)
	}
	if spans(v, q) {
		return h.span(ctx, v, q, h.mayRead(narrowed))
	}
	if q.Project != "" && len(narrowed) > 0 && !slices.Contains(narrowed, q.Project) {
		return nil, denied(q.Project)
	}
	if err := checkQuery(v, q); err != nil {
		return nil, err
	}
	view, err := h.states.Look(ctx, v, q)
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	if err := h.addLongText(ctx, v, q, view); err != nil {
		return nil, err
	}
	h.addTree(ctx, v, q, view)
	return view, h.addDiff(ctx, v, q, view)
}

// addTree gives what an execution that was asked for by id has used with those that
// work for it. The answer does without where the tables lag: the rest is not theirs.
func (h *Host) addTree(ctx context.Context, v project.View, q *loomv1.Query, view *loomv1.View) {
	if v != project.Executions || q.Id == "" || len(view.Executions) != 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, looksAt)
	defer cancel()
	x := view.Executions[0]
	if err := h.caughtUp(ctx, h.partition(x.Project)); err != nil {
		return
	}
	if tree, err := h.projection.Tree(ctx, x.Id); err == nil && tree.Executions > 1 {
		view.Tree = tree
	}
}

// addDiff gives the text of the diff with an approval that was asked for by id.
func (h *Host) addDiff(ctx context.Context, v project.View, q *loomv1.Query, view *loomv1.View) error {
	if v != project.Inbox || q.Id == "" || len(view.Approvals) != 1 {
		return nil
	}
	ref := view.Approvals[0].Change.GetDiff()
	if ref == nil {
		return nil
	}
	diff, err := h.blobs.Get(ctx, ref)
	view.Diff = diffText(diff)
	return err
}

// diffText is a diff as a view can carry it: files may be in any encoding, and git
// takes some that are no text at all for text.
func diffText(diff []byte) string { return strings.ToValidUTF8(string(diff), "\uFFFD") }

func (h *Host) serveNotices(ctx context.Context, c call) proto.Message {
	q := &loomv1.NoticesRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		err = h.checkNotices(ctx, q)
	}
	if err == nil {
		var page *loomv1.NoticesReply
		if page, err = h.history.page(ctx, q); err == nil {
			return page
		}
	}
	return &loomv1.NoticesReply{Error: fault.From(err).Proto()}
}

// serveHistory answers from the projection, once it has all that the journal
// has, so that a caller reads its own writes.
func (h *Host) serveHistory(ctx context.Context, c call) proto.Message {
	q := &loomv1.HistoryRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var list []*loomv1.Transition
		if list, err = h.transitions(ctx, q.Execution); err == nil {
			return &loomv1.HistoryReply{Transitions: list}
		}
	}
	return &loomv1.HistoryReply{Error: fault.From(err).Proto()}
}

func (h *Host) transitions(ctx context.Context, id string) ([]*loomv1.Transition, error) {
	x, err := h.executionOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := h.caughtUp(ctx, h.partition(x.Project)); err != nil {
		return nil, err
	}
	return h.projection.Transitions(ctx, x.Id)
}

// looksAt is how long a host's status waits for its projects.
const looksAt = 2 * time.Second

// blocks returns what the operator has to mend before work of the projects goes
// on. What a project does not tell in time is left out.
func (h *Host) blocks(ctx context.Context) (list []*loomv1.ModelBlock) {
	ctx, cancel := context.WithTimeout(ctx, looksAt)
	defer cancel()
	for _, id := range h.known.All() {
		view, err := h.states.Look(ctx, project.Inbox, &loomv1.Query{Project: id, Limit: 1})
		if err != nil {
			h.log.Warn("a project tells nothing of its models", "project", id, "error", err)
			continue
		}
		for _, b := range view.Blocks {
			if !slices.ContainsFunc(list, func(known *loomv1.ModelBlock) bool { return known.Model == b.Model && known.Code == b.Code }) {
				list = append(list, b)
			}
		}
	}
	return list
}

func (h *Host) serveHost(ctx context.Context, _ call) proto.Message {
	m := h.dir.Manifest()
	return &loomv1.HostReply{
		Deployment: m.Deployment, Host: m.Host, Epoch: m.Starts, Version: Version, Projects: h.known.Served(),
		Roles: h.counts(), StartedAt: timestamppb.New(h.started), Ceo: m.CEO, Model: h.model.Name(),
		Unsandboxed: h.config.Unsandboxed, Sandbox: h.sandboxText(), Disk: h.diskUse(ctx, measureAfter), Blocks: h.blocks(ctx), Tables: h.tablesLag(),
		ClocksApart: h.clocksApart(), Damage: h.damageTold(),
	}
}

// sandboxText is the most that commands may use, or "" where none run in a
// sandbox.
func (h *Host) sandboxText() string {
	if !h.Sandboxed() {
		return ""
	}
	return h.sandboxLimit().String()
}

// counts returns how many agents of each role run here, and what answers for
// them.
func (h *Host) counts() []*loomv1.RoleCount {
	list := h.pools.Counts()
	for _, c := range list {
		c.Model = h.model.Name()
		if m, ok := h.config.Models[c.Role]; ok {
			c.Model = m.Name()
		}
	}
	return list
}
