// Package memories keeps the long texts of what projects remember, and finds what other
// projects share.
package memories

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
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what a host reads and keeps for the memory.
const (
	maxDetail   = 256 << 10 // bytes of a long text
	sharedItems = 32        // entries of each other project that compete in an offer
)

// Memories do for projects what their memory cannot: they keep long texts, and find what
// other projects share. All methods may be called at the same time.
type Memories struct {
	// States are those of all projects, Projects which there are.
	States   reading.States
	Projects *registry.Projects
	Blobs    blob.Store
	Secrets  clean.Secrets // are taken out of what is kept
	Log      *slog.Logger
}

// Way returns a way to projects as w is, on which commands of the memory get what only
// a host can give them.
func (m *Memories) Way(w actors.Way) actors.Way { return remembering{w, m} }

type remembering struct {
	actors.Way
	memories *Memories
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
func (m *Memories) longText(ctx context.Context, text string) (string, *loomv1.BlobRef, error) {
	switch {
	case len(text) > maxDetail:
		return "", nil, fault.New("memory/invalid", "the text has %d bytes, and %d are the most", len(text), maxDetail).At("text")
	case !utf8.ValidString(text):
		return "", nil, fault.New("memory/invalid", "the text is not UTF-8").At("text")
	}
	text = m.Secrets.Text(text)
	if len(text) <= memory.MaxText {
		return text, nil, nil
	}
	ref, err := m.Blobs.Put(ctx, []byte(text), "text/plain")
	return strings.ToValidUTF8(text[:memory.MaxText], ""), ref, err
}

// fill returns a command with what only the host may put into it: where the whole
// of a long text is kept, and what other projects share. Other commands it returns as
// they are.
func (m *Memories) fill(ctx context.Context, cmd *loomv1.Command) (*loomv1.Command, error) {
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
func (m *Memories) shared(ctx context.Context, id, text string) (items []*loomv1.MemoryItem) {
	wanted := m.namespaces(ctx, id)
	if len(wanted) == 0 || text == "" {
		return nil
	}
	for _, other := range m.Projects.All() {
		if other == id {
			continue
		}
		for _, ns := range m.namespaces(ctx, other) {
			if !slices.Contains(wanted, ns) {
				continue
			}
			view, err := m.States.Look(ctx, project.Memories, &loomv1.Query{Project: other, Namespace: ns, Text: text, Limit: sharedItems})
			if err != nil {
				m.Log.Warn("what a project shares cannot be asked", "project", other, "namespace", ns, "error", err)
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
func (m *Memories) namespaces(ctx context.Context, id string) []string {
	view, err := m.States.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil || len(view.Projects) != 1 {
		return nil
	}
	return view.Projects[0].Memory
}
