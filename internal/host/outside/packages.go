package outside

import (
	"context"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// openTools returns what is trusted of a package's tools, and the directory that
// they are in.
func (ts *Tools) openTools(ctx context.Context, q agent.OutsideQuery) (toolkit.Pin, string, error) {
	trust := toolkit.NewTrust(ts.Dir.Path())
	if q.Trusted == nil {
		pin, dir, err := trust.Open(q.Process, q.Toolkit)
		if err != nil {
			return pin, "", Here(err, ts.Dir.Manifest().Host)
		}
		return pin, dir, nil
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	name := kitName(q.Trusted)
	pin, known := ts.pins[name]
	if known && trust.Has(pin.Digest) {
		return pin, trust.Dir(pin.Digest), nil
	}
	pin, files, err := ts.fetchTools(ctx, q.Trusted)
	if err == nil {
		err = trust.Keep(pin.Digest, files)
	}
	if err != nil {
		return pin, "", Here(err, ts.Dir.Manifest().Host)
	}
	if ts.pins == nil {
		ts.pins = map[string]toolkit.Pin{}
	}
	ts.pins[name] = pin
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
func (ts *Tools) fetchTools(ctx context.Context, t *loomv1.Toolkit) (pin toolkit.Pin, files []processes.ToolFile, err error) {
	var data []byte
	for _, ref := range t.Parts {
		part, err := ts.Blobs.Get(ctx, ref)
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

// MostPart is the most bytes of a part of a toolkit: one request carries it.
const MostPart = 192 << 10

// Media is the type of the parts of a toolkit.
const Media = "application/octet-stream"

// Pack returns what the CEO signs to trust tools, and the bytes that its
// parts name, in order.
func Pack(pin toolkit.Pin, files []processes.ToolFile) (t *loomv1.Toolkit, parts [][]byte, err error) {
	names, err := Names(pin)
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
	for part := range slices.Chunk(data, MostPart) {
		t.Parts, parts = append(t.Parts, blob.Ref(part, Media)), append(parts, part)
	}
	return t, parts, nil
}
