package host

import (
	"context"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/outside"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fit refuses a submission that no agent could work on.
func (h *Host) fit(ctx context.Context, s *loomv1.Submission) error {
	if err := h.meant(s.Assignee); err != nil {
		return err
	}
	if err := h.disk.Room(s.Project); err != nil {
		return err
	}
	return h.trusted(ctx, s.Project, s.Process, map[string]bool{})
}

// trusted refuses a process whose tools are not trusted, or one of whose parts is
// such a process. What there is no process of, others say.
func (h *Host) trusted(ctx context.Context, id, process string, seen map[string]bool) error {
	if process == "" || seen[process] {
		return nil
	}
	seen[process] = true
	view, err := h.projects.Look(ctx, project.Definitions, &loomv1.Query{Project: id, Id: process})
	if fault.Status(err) == fault.Unavailable {
		return err
	}
	if err != nil || len(view.Definitions) == 0 {
		return nil //nolint:nilerr // the project refuses it, and knows why
	}
	def := view.Definitions[0].GetDefinition()
	if err := h.ready(ctx, id, def); err != nil {
		return err
	}
	for _, n := range def.GetNodes() {
		if err := h.trusted(ctx, id, n.Process, seen); err != nil {
			return err
		}
	}
	return nil
}

// ready refuses a definition whose tools are not trusted, or lack one that it
// requires.
func (h *Host) ready(ctx context.Context, id string, def *loomv1.Definition) error {
	names, err := h.trustedTools(ctx, id, def)
	if err != nil {
		return err
	}
	for _, name := range def.GetGuide().GetRequiredTools() {
		if strings.HasPrefix(name, toolkit.Prefix) && !slices.Contains(names, name) {
			return fault.New("process/tool", "process %q requires a tool that its package does not have", def.Name).Got(name).
				Want("its package has %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// trustedTools are what agents call the tools of a definition: those that the
// CEO trusts in the project, or that the operator of this host does where no
// other host could come to the work.
func (h *Host) trustedTools(ctx context.Context, id string, def *loomv1.Definition) ([]string, error) {
	if def.GetToolkit() == "" {
		return nil, nil
	}
	view, err := h.projects.Look(ctx, project.Permitted, &loomv1.Query{Project: id})
	if err != nil {
		return nil, err
	}
	for _, t := range view.Toolkits {
		if t.Process == def.Name && t.Digest == def.Toolkit {
			return t.Tools, nil
		}
	}
	pin, _, err := toolkit.NewTrust(h.dir.Path()).Open(def.Name, def.Toolkit)
	if err != nil {
		return nil, outside.Here(err, h.Name())
	}
	if other := h.another(); other != "" {
		return nil, fault.New("process/tool-untrusted", "the tools of process %q are trusted on this host alone, and host %q may come to the work", def.Name, other).
			At("host "+h.Name()).Want("trust them in the project, for all hosts: \"loom process trust %s --project %s --reason TEXT\"", def.Name, id)
	}
	return outside.Names(pin)
}

// another names a host beside this one that runs agents, or is "".
func (h *Host) another() string {
	for _, p := range h.fleet.Hosts() {
		if p.Alive && p.Host != h.Name() {
			return p.Host
		}
	}
	return ""
}

// keepTools keeps a part of a toolkit, for operators.
func (h *Host) keepTools(ctx context.Context, q *loomv1.ToolkitPart, c service.Call) (*loomv1.ToolkitReply, error) {
	switch {
	case c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR:
		return nil, fault.New("request/denied", "only operators give hosts the tools of packages").At("svc.toolkit")
	case len(q.Data) == 0 || len(q.Data) > outside.MostPart:
		return nil, fault.New("process/tool", "a part of %d bytes, where 1 to %d are possible", len(q.Data), outside.MostPart).At("data")
	}
	if err := h.space.Admit(); err != nil {
		return nil, err
	}
	ref, err := h.blobs.Put(ctx, q.Data, outside.Media)
	return &loomv1.ToolkitReply{Blob: ref}, err
}
