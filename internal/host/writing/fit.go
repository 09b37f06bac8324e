package writing

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

// Fit refuses a submission that no agent could work on.
func (w *Writer) Fit(ctx context.Context, s *loomv1.Submission) error {
	if err := w.meant(s.Assignee); err != nil {
		return err
	}
	if err := w.config.Room(s.Project); err != nil {
		return err
	}
	return w.trusted(ctx, s.Project, s.Process, map[string]bool{})
}

// trusted refuses a process whose tools are not trusted, or one of whose parts is
// such a process. What there is no process of, others say.
func (w *Writer) trusted(ctx context.Context, id, process string, seen map[string]bool) error {
	if process == "" || seen[process] {
		return nil
	}
	seen[process] = true
	view, err := w.config.Projects.Look(ctx, project.Definitions, &loomv1.Query{Project: id, Id: process})
	if fault.Status(err) == fault.Unavailable {
		return err
	}
	if err != nil || len(view.Definitions) == 0 {
		return nil //nolint:nilerr // the project refuses it, and knows why
	}
	def := view.Definitions[0].GetDefinition()
	if err := w.ready(ctx, id, def); err != nil {
		return err
	}
	for _, n := range def.GetNodes() {
		if err := w.trusted(ctx, id, n.Process, seen); err != nil {
			return err
		}
	}
	return nil
}

// ready refuses a definition whose tools are not trusted, lack one that it requires, or
// are not set up.
func (w *Writer) ready(ctx context.Context, id string, def *loomv1.Definition) error {
	names, err := w.trustedTools(ctx, id, def)
	if err != nil {
		return err
	}
	for _, name := range def.GetGuide().GetRequiredTools() {
		if strings.HasPrefix(name, toolkit.Prefix) && !slices.Contains(names, name) {
			return fault.New("process/tool", "process %q requires a tool that its package does not have", def.Name).Got(name).
				Want("its package has %s", strings.Join(names, ", "))
		}
	}
	return w.setUp(id, def)
}

// setUp refuses a definition that requires tools which no host has set up that runs
// agents for the project, all of them at once. Which host comes to an attempt is not known
// yet. While no host runs agents, those are asked that could.
func (w *Writer) setUp(id string, def *loomv1.Definition) error {
	var missing []*fault.Error
	lacks := w.crews(id)
	for _, name := range def.GetGuide().GetRequiredTools() {
		if !slices.ContainsFunc(lacks, func(lacks func(string) bool) bool { return !lacks(name) }) {
			missing = append(missing, w.missing(def, name))
		}
	}
	return fault.Join(missing)
}

func (w *Writer) missing(def *loomv1.Definition, name string) *fault.Error {
	why, hint := "no host that runs agents has it", "it is set up on this host: have agents here with \"loom scale ROLE=NUMBER\", or set it up where they are"
	if lacking := w.config.Lacking[name]; lacking != nil {
		why, hint = lacking.Message, lacking.Hint
	}
	return fault.New("process/tool-missing", "process %q requires %s: %s", def.Name, name, why).At("tools.required").Want("%s", hint)
}

// crews says of each host that runs agents for a project which tools it lacks.
func (w *Writer) crews(id string) (working []func(string) bool) {
	here := func(name string) bool { return w.config.Lacking[name] != nil }
	could := []func(string) bool{here}
	seen := false
	for _, p := range w.config.Hosts() {
		if !p.Alive || len(p.Projects) > 0 && !slices.Contains(p.Projects, id) {
			continue
		}
		lacks := func(name string) bool { return slices.Contains(p.Lacks, name) }
		if p.Host == w.config.Host {
			lacks, seen = here, true
		}
		could = append(could, lacks)
		if slices.ContainsFunc(p.Roles, func(r *loomv1.RoleCount) bool { return r.Desired > 0 }) {
			working = append(working, lacks)
		}
	}
	if len(working) == 0 {
		return could
	}
	if !seen { // it has not announced itself yet
		working = append(working, here)
	}
	return working
}

// trustedTools are what agents call the tools of a definition: those that the
// CEO trusts in the project, or that the operator of this host does where no
// other host could come to the work.
func (w *Writer) trustedTools(ctx context.Context, id string, def *loomv1.Definition) ([]string, error) {
	if def.GetToolkit() == "" {
		return nil, nil
	}
	view, err := w.config.Projects.Look(ctx, project.Permitted, &loomv1.Query{Project: id})
	if err != nil {
		return nil, err
	}
	for _, t := range view.Toolkits {
		if t.Process == def.Name && t.Digest == def.Toolkit {
			return t.Tools, nil
		}
	}
	pin, _, err := toolkit.NewTrust(w.config.Data).Open(def.Name, def.Toolkit)
	if err != nil {
		return nil, outside.Here(err, w.config.Host)
	}
	if other := w.another(); other != "" {
		return nil, fault.New("process/tool-untrusted", "the tools of process %q are trusted on this host alone, and host %q may come to the work", def.Name, other).
			At("host "+w.config.Host).Want("trust them in the project, for all hosts: \"loom process trust %s --project %s --reason TEXT\"", def.Name, id)
	}
	return outside.Names(pin)
}

// another names a host beside this one that runs agents, or is "".
func (w *Writer) another() string {
	for _, p := range w.config.Hosts() {
		if p.Alive && p.Host != w.config.Host {
			return p.Host
		}
	}
	return ""
}

// keepTools keeps a part of a toolkit, for operators.
func (w *Writer) keepTools(ctx context.Context, q *loomv1.ToolkitPart, c service.Call) (*loomv1.ToolkitReply, error) {
	switch {
	case c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR:
		return nil, fault.New("request/denied", "only operators give hosts the tools of packages").At("svc.toolkit")
	case len(q.Data) == 0 || len(q.Data) > outside.MostPart:
		return nil, fault.New("process/tool", "a part of %d bytes, where 1 to %d are possible", len(q.Data), outside.MostPart).At("data")
	}
	if err := w.config.Admit(); err != nil {
		return nil, err
	}
	ref, err := w.config.Blobs.Put(ctx, q.Data, outside.Media)
	return &loomv1.ToolkitReply{Blob: ref}, err
}
