package outside

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF40_OnlyTheBytesThatTheCEOTrustedRun gives a host toolkits whose bytes are
// not what is trusted, in every way that matters.
func TestF40_OnlyTheBytesThatTheCEOTrustedRun(t *testing.T) {
	pack := func(blobs blob.Store, edit func(*loomv1.ToolkitFiles)) *loomv1.Toolkit {
		files := []processes.ToolFile{program("one", "read", "echo '{}'")}
		pin := toolkit.Pin{Process: "tender", Digest: processes.ToolsDigest(files), Tools: []toolkit.Tool{{Name: "one", Class: "read"}}}
		trusted, parts, err := Pack(pin, files)
		if err != nil || len(parts) != 1 {
			t.Fatal(len(parts), err)
		}
		all := &loomv1.ToolkitFiles{}
		if err := proto.Unmarshal(parts[0], all); err != nil {
			t.Fatal(err)
		}
		edit(all)
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := blobs.Put(t.Context(), data, "")
		if err != nil {
			t.Fatal(err)
		}
		trusted.Parts = []*loomv1.BlobRef{ref}
		return trusted
	}
	for name, tt := range map[string]struct {
		inside func(*loomv1.ToolkitFiles)
		after  func(*blob.Memory, *loomv1.Toolkit)
		want   string
	}{
		"as it was trusted": {nil, nil, ""},
		"another byte":      {func(f *loomv1.ToolkitFiles) { f.Files[0].Data = []byte("#!/bin/sh\necho pwned") }, nil, "process/tool-changed"},
		"one file more": {
			func(f *loomv1.ToolkitFiles) {
				f.Files = append(f.Files, &loomv1.ToolkitFile{Name: "two", Program: true})
			}, nil,
			"process/tool-changed",
		},
		"a file elsewhere": {func(f *loomv1.ToolkitFiles) { f.Files[0].Name = "../../creds/one" }, nil, "process/tool-changed"},
		"no description":   {func(f *loomv1.ToolkitFiles) { f.Pin = nil }, nil, "process/trust"},
		"another process":  {nil, func(_ *blob.Memory, k *loomv1.Toolkit) { k.Process = "other" }, "process/tool-changed"},
		"another digest": {nil, func(_ *blob.Memory, k *loomv1.Toolkit) {
			k.Digest = processes.ToolsDigest([]processes.ToolFile{{Name: "x"}})
		}, "process/tool-changed"},
		"a damaged part":     {nil, func(m *blob.Memory, k *loomv1.Toolkit) { m.Corrupt(k.Parts[0]) }, "blob/corrupt"},
		"a part that is not": {nil, func(m *blob.Memory, k *loomv1.Toolkit) { m.Lose(k.Parts[0]) }, "blob/missing"},
	} {
		t.Run("F40 "+name, func(t *testing.T) {
			h, root := box(t)
			memory := blob.NewMemory()
			h.Blobs = memory
			if tt.inside == nil {
				tt.inside = func(*loomv1.ToolkitFiles) {}
			}
			k := pack(memory, tt.inside)
			if tt.after != nil {
				tt.after(memory, k)
			}
			q := agent.OutsideQuery{Process: k.Process, Toolkit: k.Digest, Root: root, Trusted: k}
			pin, dir, err := h.openTools(t.Context(), q)
			if fault.Code(err) != tt.want {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if tt.want != "" {
				return
			}
			memory.Lose(k.Parts[0]) // it is not asked for again
			if again, at, err := h.openTools(t.Context(), q); err != nil || at != dir || again.Digest != pin.Digest {
				t.Errorf("again: %v, %v, %v", again, at, err)
			}
		})
	}
}
