package host

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// kits remembers what the tools said of themselves that the CEO has trusted, by
// what names their bytes. Their files are in the data directory.
type kits struct {
	mu   sync.Mutex // also held while files are fetched: once is enough
	pins map[string]toolkit.Pin
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
		return nil, h.here(err)
	}
	if other := h.another(); other != "" {
		return nil, fault.New("process/tool-untrusted", "the tools of process %q are trusted on this host alone, and host %q may come to the work", def.Name, other).
			At("host "+h.name()).Want("trust them in the project, for all hosts: \"loom process trust %s --project %s --reason TEXT\"", def.Name, id)
	}
	return pinned(pin)
}

// another names a host beside this one that runs agents, or is "".
func (h *Host) another() string {
	for _, p := range h.hosts() {
		if p.Alive && p.Host != h.name() {
			return p.Host
		}
	}
	return ""
}

// openTools returns what is trusted of a package's tools, and the directory that
// they are in.
func (h *Host) openTools(ctx context.Context, q agent.OutsideQuery) (toolkit.Pin, string, error) {
	trust := toolkit.NewTrust(h.dir.Path())
	if q.Trusted == nil {
		pin, dir, err := trust.Open(q.Process, q.Toolkit)
		if err != nil {
			return pin, "", h.here(err)
		}
		return pin, dir, nil
	}
	h.kits.mu.Lock()
	defer h.kits.mu.Unlock()
	name := kitName(q.Trusted)
	pin, known := h.kits.pins[name]
	if known && trust.Has(pin.Digest) {
		return pin, trust.Dir(pin.Digest), nil
	}
	pin, files, err := h.fetchTools(ctx, q.Trusted)
	if err == nil {
		err = trust.Keep(pin.Digest, files)
	}
	if err != nil {
		return pin, "", h.here(err)
	}
	if h.kits.pins == nil {
		h.kits.pins = map[string]toolkit.Pin{}
	}
	h.kits.pins[name] = pin
	return pin, trust.Dir(pin.Digest), nil
}

// kitName names the bytes of a toolkit.
func kitName(t *loomv1.Toolkit) (name string) {
	for _, ref := range t.Parts {
		name += ref.Sha256
	}
	return name
}

// fetchTools reads the tools that the CEO has trusted, and holds them against
// what is trusted: bytes that are not those are refused.
func (h *Host) fetchTools(ctx context.Context, t *loomv1.Toolkit) (pin toolkit.Pin, files []processes.ToolFile, err error) {
	var data []byte
	for _, ref := range t.Parts {
		part, err := h.blobs.Get(ctx, ref)
		if err != nil {
			return pin, nil, err
		}
		data = append(data, part...)
	}
	all := &loomv1.ToolkitFiles{}
	if err := proto.Unmarshal(data, all); err != nil {
		return pin, nil, fault.New("process/trust", "what the deployment keeps of the tools of process %q cannot be read", t.Process).Because(err)
	}
	if err := json.Unmarshal(all.Pin, &pin); err != nil {
		return pin, nil, fault.New("process/trust", "what is trusted of the tools of process %q cannot be read", t.Process).Because(err)
	}
	for _, f := range all.Files {
		files = append(files, processes.ToolFile{Name: f.Name, Program: f.Program, Data: f.Data})
	}
	if pin.Process != t.Process || pin.Digest != t.Digest || processes.ToolsDigest(files) != t.Digest {
		return pin, nil, fault.New("process/tool-changed", "what the deployment keeps of the tools of process %q is not what was trusted", t.Process)
	}
	return pin, files, nil
}

// toolkitPart is the most bytes of a part of a toolkit: one request carries it.
const toolkitPart = 192 << 10

const toolkitMedia = "application/octet-stream"

// PackTools returns what the CEO signs to trust tools, and the bytes that its
// parts name, in order.
func PackTools(pin toolkit.Pin, files []processes.ToolFile) (t *loomv1.Toolkit, parts [][]byte, err error) {
	names, err := pinned(pin)
	if err != nil {
		return nil, nil, err
	}
	all := &loomv1.ToolkitFiles{}
	if all.Pin, err = json.Marshal(pin); err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		all.Files = append(all.Files, &loomv1.ToolkitFile{Name: f.Name, Program: f.Program, Data: f.Data})
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(all)
	if err != nil {
		return nil, nil, err
	}
	t = &loomv1.Toolkit{Process: pin.Process, Digest: pin.Digest, Tools: names}
	for part := range slices.Chunk(data, toolkitPart) {
		t.Parts, parts = append(t.Parts, blob.Ref(part, toolkitMedia)), append(parts, part)
	}
	return t, parts, nil
}

// keepTools keeps a part of a toolkit, for operators.
func (h *Host) keepTools(ctx context.Context, q *loomv1.ToolkitPart, c service.Call) (*loomv1.ToolkitReply, error) {
	switch {
	case c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR:
		return nil, fault.New("request/denied", "only operators give hosts the tools of packages").At("svc.toolkit")
	case len(q.Data) == 0 || len(q.Data) > toolkitPart:
		return nil, fault.New("process/tool", "a part of %d bytes, where 1 to %d are possible", len(q.Data), toolkitPart).At("data")
	}
	if err := h.space.Admit(); err != nil {
		return nil, err
	}
	ref, err := h.blobs.Put(ctx, q.Data, toolkitMedia)
	return &loomv1.ToolkitReply{Blob: ref}, err
}
