package processes_test

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// packaged is a guided process with tools.
func packaged() fstest.MapFS {
	return fstest.MapFS{
		"tender/process.yaml":       {Data: []byte("name: tender\nversion: \"1.0\"\nphases:\n  - {id: a, description: A.}\n  - {id: b, description: B.}\ntools: {required: [pkg_size], excluded: [pkg_other]}\n")},
		"tender/tools/size":         {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"tender/tools/lib/b.txt":    {Data: []byte("b"), Mode: 0o644},
		"tender/tools/.hidden":      {Data: []byte("h"), Mode: 0o755},
		"tender/tools/.git/config":  {Data: []byte("h"), Mode: 0o755},
		"tender/tools/link":         {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink},
		"tender/not/of/the/tools":   {Data: []byte("n")},
		"nodes/process.yaml":        {Data: []byte("name: nodes\nversion: \"1.0\"\nnodes:\n  - {id: s, type: start}\n  - {id: t, type: task, role: analyst, description: T.}\n  - {id: e, type: end}\nedges:\n  - {id: e1, from: s, to: t}\n  - {id: e2, from: t, to: e}\n")},
		"nodes/tools/size":          {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"plain/process.yaml":        {Data: []byte("name: plain\nversion: \"1.0\"\nphases:\n  - {id: a, description: A.}\n")},
		"plain/tools":               {Data: []byte("a file"), Mode: 0o755},
		"alone.yaml":                {Data: []byte("name: alone\nversion: \"1.0\"\nphases:\n  - {id: a, description: A.}\n")},
		"plain/templates/voice.txt": {Data: []byte("x")},
	}
}

func toolkitOf(t *testing.T, dir fs.FS, name string) (string, *processes.Entry) {
	t.Helper()
	e, err := processes.Open([]processes.Layer{{Name: "w", Dir: dir}}, roles.Builtin()).Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Definition.Toolkit, e
}

// The digest of a package's tools is part of the definition, and whatever can
// make them do something else makes it another one.
func TestPROC07_ToolsAreNamedByDigest(t *testing.T) {
	digest, e := toolkitOf(t, packaged(), "tender")
	files, err := e.Tools()
	if err != nil || len(files) != 2 || files[0].Name != "lib/b.txt" || files[1].Name != "size" || !files[1].Program || files[0].Program || processes.ToolsDigest(files) != digest {
		t.Fatalf("%+v, %v, %s", files, err, digest)
	}
	for name, change := range map[string]func(fstest.MapFS){
		"a byte": func(d fstest.MapFS) {
			d["tender/tools/size"] = &fstest.MapFile{Data: []byte("#!/bin/sh \n"), Mode: 0o755}
		},
		"a library": func(d fstest.MapFS) { d["tender/tools/lib/b.txt"] = &fstest.MapFile{Data: []byte("c"), Mode: 0o644} },
		"the mode":  func(d fstest.MapFS) { d["tender/tools/lib/b.txt"] = &fstest.MapFile{Data: []byte("b"), Mode: 0o755} },
		"a name": func(d fstest.MapFS) {
			d["tender/tools/lib/c.txt"] = d["tender/tools/lib/b.txt"]
			delete(d, "tender/tools/lib/b.txt")
		},
		"a new file": func(d fstest.MapFS) { d["tender/tools/more"] = &fstest.MapFile{} },
	} {
		dir := maps.Clone(packaged())
		change(dir)
		if other, _ := toolkitOf(t, dir, "tender"); other == digest || other == "" {
			t.Errorf("%s: the digest is %q", name, other)
		}
	}
	for name, want := range map[string]bool{"nodes": true, "plain": false, "alone": false} {
		if other, _ := toolkitOf(t, packaged(), name); (other != "") != want {
			t.Errorf("%s: the digest is %q", name, other)
		}
	}
}

// What names the tools goes with the definition wherever that goes: into a file,
// and into a plan.
func TestPROC07_TheDigestStaysWithTheDefinition(t *testing.T) {
	rs := roles.Builtin()
	for _, name := range []string{"tender", "nodes"} {
		digest, e := toolkitOf(t, packaged(), name)
		again, err := processes.Parse("again.yaml", processes.Write(e.Definition), rs)
		if err != nil || again.Toolkit != digest || processes.Hash(again) != processes.Hash(e.Definition) {
			t.Errorf("%s: %v, %v", name, again, err)
		}
	}
	digest, e := toolkitOf(t, packaged(), "tender")
	def, _, err := processes.Replan(e.Definition, "why: less\nphases: [{id: a}]\nleft_out: [{phase: b, reason: no}]\n", processes.PlanOptions{Roles: rs})
	if err != nil || def.Toolkit != digest {
		t.Errorf("planned: %v, %v", def.GetToolkit(), err)
	}
	def.Toolkit = "x"
	if errs := processes.Validate(def, rs); len(errs) != 1 || errs[0].Code != "process/tool" {
		t.Errorf("a digest that is none: %v", errs)
	}
}

func TestPROC07_ToolsHaveLimits(t *testing.T) {
	many := packaged()
	for i := range 200 {
		many["tender/tools/f"+strings.Repeat("x", i)] = &fstest.MapFile{}
	}
	large := packaged()
	large["tender/tools/large"] = &fstest.MapFile{Data: make([]byte, 16<<20)}
	for name, dir := range map[string]fs.FS{"many": many, "large": large} {
		_, err := processes.Open([]processes.Layer{{Name: "w", Dir: dir}}, roles.Builtin()).Find("tender")
		if fault.Code(err) != "process/tool" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
