package host

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/clean"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what a host reads and keeps for the memory.
const (
	maxDetail   = 256 << 10 // bytes of a long text
	sharedItems = 32        // entries of each other project that compete in an offer
)

// writeMemory writes to a memory, for operators.
func (h *Host) writeMemory(ctx context.Context, r *loomv1.MemoryRequest, c service.Call) (*loomv1.Answer, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators write to the memory here")
	}
	if r.Project == "" {
		r.Project = h.known.Only()
	}
	if err := reading.CheckQuery(project.Memories, &loomv1.Query{Project: r.Project}); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: r.Project, Actor: c.From}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	switch v := r.Verb.(type) {
	case *loomv1.MemoryRequest_Keep:
		cmd.Body = &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Request: v.Keep.GetRequest(), Entry: v.Keep.GetEntry()}}
	case *loomv1.MemoryRequest_Change:
		cmd.Body = &loomv1.Command_ChangeMemory{ChangeMemory: v.Change}
	case *loomv1.MemoryRequest_Forget:
		cmd.Body = &loomv1.Command_ForgetMemory{ForgetMemory: v.Forget}
	default:
		return nil, fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	answer, err := remembering{h.projects, h.memories()}.Do(ctx, cmd)
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	return answer, nil
}

// memories do for projects what their memory cannot: they keep long texts, and find what
// other projects share. All methods may be called at the same time.
type memories struct {
	states  reading.States
	known   *registry.Projects
	blobs   blob.Store
	secrets clean.Secrets // are taken out of what is kept
	log     *slog.Logger
}

func (h *Host) memories() *memories {
	return &memories{states: h.projects, known: &h.known, blobs: h.blobs, secrets: h.secrets, log: h.log}
}

// remembering is the way to projects, through memories.
type remembering struct {
	actors.Way
	memories *memories
}

// Do implements actors.Way.
func (r remembering) Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	cmd, err := r.memories.fill(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return r.Way.Do(ctx, cmd)
}

// longText returns the beginning of a text, as much as an entry holds, and where the
// whole of it is kept if there is more. Secrets that the host knows are taken out
// before it is kept.
func (m *memories) longText(ctx context.Context, text string) (string, *loomv1.BlobRef, error) {
	switch {
	case len(text) > maxDetail:
		return "", nil, fault.New("memory/invalid", "the text has %d bytes, and %d are the most", len(text), maxDetail).At("text")
	case !utf8.ValidString(text):
		return "", nil, fault.New("memory/invalid", "the text is not UTF-8").At("text")
	}
	text = m.secrets.Text(text)
	if len(text) <= memory.MaxText {
		return text, nil, nil
	}
	ref, err := m.blobs.Put(ctx, []byte(text), "text/plain")
	return strings.ToValidUTF8(text[:memory.MaxText], ""), ref, err
}

// fill returns a command with what only the host may put into it: where the whole
// of a long text is kept, and what other projects share. Other commands it returns as
// they are.
func (m *memories) fill(ctx context.Context, cmd *loomv1.Command) (*loomv1.Command, error) {
	switch cmd.GetBody().(type) {
	case *loomv1.Command_KeepMemory:
		cmd = proto.CloneOf(cmd)
		e := cmd.GetKeepMemory().GetEntry()
		if e == nil {
			return cmd, nil
		}
		var err error
		e.Text, e.Detail, err = m.longText(ctx, e.Text)
		return cmd, err
	case *loomv1.Command_ChangeMemory:
		cmd = proto.CloneOf(cmd)
		c := cmd.GetChangeMemory()
		if c.Detail = nil; c.Text == nil {
			return cmd, nil
		}
		text, detail, err := m.longText(ctx, *c.Text)
		c.Text, c.Detail = &text, detail
		return cmd, err
	case *loomv1.Command_OfferMemory:
		cmd = proto.CloneOf(cmd)
		offer := cmd.GetOfferMemory()
		offer.Shared = m.shared(ctx, cmd.Project, offer.Text)
	}
	return cmd, nil
}

// shared finds what other projects share under the namespaces that a project names.
// What cannot be asked is left out and logged: an offer is worth having without it.
func (m *memories) shared(ctx context.Context, id, text string) (items []*loomv1.MemoryItem) {
	wanted := m.namespaces(ctx, id)
	if len(wanted) == 0 || text == "" {
		return nil
	}
	for _, other := range m.known.All() {
		if other == id {
			continue
		}
		for _, ns := range m.namespaces(ctx, other) {
			if !slices.Contains(wanted, ns) {
				continue
			}
			view, err := m.states.Look(ctx, project.Memories, &loomv1.Query{Project: other, Namespace: ns, Text: text, Limit: sharedItems})
			if err != nil {
				m.log.Warn("what a project shares cannot be asked", "project", other, "namespace", ns, "error", err)
				continue
			}
			for _, item := range view.GetFound().GetItems() {
				item = proto.CloneOf(item)
				item.Entry.Id = other + "/" + item.Entry.Id
				items = append(items, item)
			}
		}
	}
	return items
}

// namespaces returns those that a project's registration names.
func (m *memories) namespaces(ctx context.Context, id string) []string {
	view, err := m.states.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil || len(view.Projects) != 1 {
		return nil
	}
	return view.Projects[0].Memory
}
