package project

import (
	"encoding/hex"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what is trusted: toolkits of a project, tools and parts of one, and
// bytes of a part.
const (
	maxToolkits  = 200
	maxTools     = 200
	maxToolName  = 128
	maxParts     = 128
	maxPartBytes = 192 << 10
)

// trustTools trusts the tools of a package on the CEO's word. Those that are
// trusted already are trusted anew, as the newest.
func (d *decision) trustTools(c *loomv1.TrustTools) error {
	t := proto.CloneOf(c.GetToolkit())
	if err := checkToolkit(t); err != nil {
		return err
	}
	if len(d.s.p.Toolkits) >= maxToolkits && d.s.toolkit(t.Process, t.Digest) == nil {
		return fault.New("process/tool", "project %q trusts %d toolkits, as many as it can", d.s.cfg.ID, maxToolkits).Want("revoke what is not needed")
	}
	t.By, t.At, t.Reason = d.actor, d.at, c.GetReason()
	return d.newKind(&loomv1.Event{Fact: &loomv1.Event_ToolsTrusted{ToolsTrusted: &loomv1.ToolsTrusted{Toolkit: t}}})
}

// distrustTools takes back all trust in the tools of a process.
func (d *decision) distrustTools(c *loomv1.DistrustTools) error {
	var known []string
	for _, t := range d.s.p.Toolkits {
		known = append(known, t.Process)
	}
	if !slices.Contains(known, c.GetProcess()) {
		return fault.New("process/unknown", "no tools of such a process are trusted in project %q", d.s.cfg.ID).At("NAME").Got(c.GetProcess()).
			Want("%s", suggest.Among(c.GetProcess(), known))
	}
	return d.newKind(&loomv1.Event{Fact: &loomv1.Event_ToolsDistrusted{ToolsDistrusted: &loomv1.ToolsDistrusted{Process: c.Process, Reason: c.Reason}}})
}

// newKind emits the fact of an order that earlier builds do not read: it is
// refused before the order is put on record.
func (d *decision) newKind(e *loomv1.Event) error {
	if err := d.s.cfg.Format.Check(e, d.s.agreed); err != nil {
		return err
	}
	return d.emit(e)
}

// checkToolkit refuses what no host could use.
func checkToolkit(t *loomv1.Toolkit) error {
	refuse := func(at, why string, args ...any) error {
		return fault.New("process/tool", why, args...).At("toolkit." + at)
	}
	switch {
	case t.GetProcess() == "" || len(t.Process) > MaxKey:
		return refuse("process", "the process that has the tools is not named")
	case !isDigest(t.Digest):
		return refuse("digest", "not the digest of a package's tools")
	case len(t.Tools) == 0 || len(t.Tools) > maxTools:
		return refuse("tools", "%d tools, where 1 to %d are possible", len(t.Tools), maxTools)
	case len(t.Parts) == 0 || len(t.Parts) > maxParts:
		return refuse("parts", "%d parts, where 1 to %d are possible", len(t.Parts), maxParts)
	case slices.ContainsFunc(t.Tools, func(name string) bool { return name == "" || len(name) > maxToolName }):
		return refuse("tools", "a tool's name has 1 to %d bytes", maxToolName)
	case slices.ContainsFunc(t.Parts, func(r *loomv1.BlobRef) bool { return !isDigest(r.GetSha256()) || r.Size == 0 || r.Size > maxPartBytes }):
		return refuse("parts", "a part has a digest and 1 to %d bytes", maxPartBytes)
	}
	return nil
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == s
}

// toolkit returns what is trusted of a process under a digest, or nil.
func (s *State) toolkit(process, digest string) *loomv1.Toolkit {
	for _, t := range s.p.Toolkits {
		if digest != "" && t.Process == process && t.Digest == digest {
			return t
		}
	}
	return nil
}

// applyToolkit folds what tools are trusted.
func (s *State) applyToolkit(e *loomv1.Event) error {
	gone := func(process, digest string) {
		s.p.Toolkits = slices.DeleteFunc(s.p.Toolkits, func(t *loomv1.Toolkit) bool {
			return t.Process == process && (digest == "" || t.Digest == digest)
		})
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_ToolsTrusted:
		t := proto.CloneOf(f.ToolsTrusted.GetToolkit())
		if t.GetProcess() == "" || t.Digest == "" {
			return fmt.Errorf("tools are trusted that nothing names")
		}
		gone(t.Process, t.Digest)
		s.p.Toolkits = append(s.p.Toolkits, t)
	case *loomv1.Event_ToolsDistrusted:
		gone(f.ToolsDistrusted.GetProcess(), "")
	}
	return nil
}
