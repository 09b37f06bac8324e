package host_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/outside"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const shoutProcess = `name: shout
version: "1.0"
description: Shouts.
phase_mode: strict
tools: {required: [pkg_shout]}
phases:
  - {id: shout, description: Shout it., deliverables: [out.txt], is_critical_path: true}
`

const shoutTool = `#!/bin/sh
if [ "$1" = describe ]; then
  echo '{"name": "shout", "description": "Shouts.", "class": "write", "schema": {"type": "object"}}'
  exit
fi
cat > /dev/null
cat "$(dirname "$0")/words.txt" > out.txt
echo '{"text": "shouted", "artifacts": ["out.txt"]}'
`

const shoutAnswers = `answers:
  - node: shout
    step: 1
    calls: [{tool: pkg_shout, arguments: '{}'}]
  - node: shout
    step: 2
    contains: "[files: out.txt]"
    calls: [{tool: finish, arguments: '{"status": "success", "summary": "shouted", "notes": ""}'}]
  - node: verify
    calls: [{tool: finish, arguments: '{"status": "success", "summary": "it is there", "notes": "", "fields": {"fault": ""}}'}]
`

// shouts is a package with a tool and a large file beside it.
func shouts(t *testing.T) *processes.Entry {
	t.Helper()
	catalog := processes.Open([]processes.Layer{{Name: "w", Dir: fstest.MapFS{
		"shout/process.yaml":    {Data: []byte(shoutProcess)},
		"shout/tools/shout":     {Data: []byte(shoutTool), Mode: 0o755},
		"shout/tools/words.txt": {Data: []byte("LOUD\n"), Mode: 0o644},
		"shout/tools/large.bin": {Data: bytes.Repeat([]byte("0123456789abcdef"), 32<<10), Mode: 0o644}, // of several parts
	}}}, roles.Builtin())
	e, err := catalog.Find("shout")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// looks asks the tools of a package what they are.
func looks(t *testing.T, e *processes.Entry, data string) (toolkit.Pin, []processes.ToolFile) {
	t.Helper()
	files, err := e.Tools()
	if err != nil {
		t.Fatal(err)
	}
	pin, err := outside.LookAtTools(t.Context(), e.Name, files, data, host.Version, true)
	if err != nil {
		t.Fatal(err)
	}
	return pin, files
}

// present has an order carried out in the CEO's name.
func present(t *testing.T, c host.Config, h *host.Host, verb string, cmd *loomv1.CeoCommand) error {
	t.Helper()
	about, err := connect(t, h, "operator").Host(t.Context(), &loomv1.HostRequest{})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := ceokey.OpenOrCreate(c.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign(about.Deployment, "shop", cmd)
	if err != nil {
		t.Fatal(err)
	}
	ceo, err := client.DialCEO(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer ceo.Close()
	return ceo.Present(t.Context(), verb, signed)
}

// TestPROC07_ToolsThatTheCEOTrustsGoToEveryHost has the phase of a package done
// by a leaf host that has never seen the package: it gets the tools with the
// work, once the CEO has trusted them in the project, and not before.
func TestPROC07_ToolsThatTheCEOTrustsGoToEveryHost(t *testing.T) {
	policy, err := scripted.Parse("shout.yaml", []byte(shoutAnswers))
	if err != nil {
		t.Fatal(err)
	}
	e := shouts(t)
	c := config(t, scripted.New("here", policy))
	c.Listen, c.Agents, c.Processes = "127.0.0.1:0", map[string]int{"analyst": 0, "engineering-manager": 0, qa: 0}, processes.NewLibrary(e.Definition)
	h := start(t, c)
	operator := connect(t, h, "operator")
	submit := func() (string, error) {
		reply, err := operator.Submit(t.Context(), &loomv1.Submission{Project: "shop", Goal: "shout", Process: "shout"})
		return reply.GetBead(), err
	}
	if _, err := submit(); fault.Code(err) != "process/tool-untrusted" {
		t.Fatalf("before anybody trusts: %v", err)
	}
	pin, files := looks(t, e, c.Data)
	if err := toolkit.NewTrust(c.Data).Add(pin, files); err != nil {
		t.Fatal(err)
	}
	far := c
	far.Data, far.Agents = t.TempDir(), map[string]int{"analyst": 1, "engineering-manager": 1, qa: 1} // phases share one worktree
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := host.StartLeaf(ctx, far, workerOf(t, h, c.Data, "w1", "analyst", "engineering-manager", qa), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop(context.Background()) })
	eventually(t, "the leaf host is heard of", func() bool { return presenceOf(t, h, "w1").GetAlive() })
	if _, err := submit(); fault.Code(err) != "process/tool-untrusted" {
		t.Fatalf("while one host of two trusts: %v", err)
	}

	trusted, parts, err := outside.Pack(pin, files)
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for _, part := range parts {
		if _, err := operator.Toolkit(t.Context(), &loomv1.ToolkitPart{Data: part}); err != nil {
			t.Fatal(err)
		}
	}
	if err := present(t, c, h, "trust", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Trust{Trust: &loomv1.TrustTools{Toolkit: trusted, Reason: "read"}}}); err != nil {
		t.Fatal(err)
	}
	bead, err := submit()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the work is done", func() bool { return closed(t, h, bead) })
	out, err := exec.CommandContext(t.Context(), "git", "-C", c.Projects[0].Repository, "show", "main:out.txt").Output()
	if err != nil || string(out) != "LOUD\n" {
		t.Errorf("the tool left %q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(far.Data, "toolkits", pin.Digest, "shout")); err != nil {
		t.Errorf("the leaf host has no copy: %v", err)
	}
	if pins, err := toolkit.NewTrust(far.Data).Pins(); err != nil || len(pins) != 0 {
		t.Errorf("the leaf host trusts by itself: %v, %v", pins, err)
	}

	if err := present(t, c, h, "distrust", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Distrust{Distrust: &loomv1.DistrustTools{Process: "shout", Reason: "no more"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := submit(); fault.Code(err) != "process/tool-untrusted" {
		t.Errorf("after it was taken back: %v", err)
	}
}

// TestSEC01_OnlyOperatorsGiveTools has others try to have tools kept.
func TestSEC01_OnlyOperatorsGiveTools(t *testing.T) {
	h := start(t, config(t, scripted.New("quick", nothing)))
	for as, want := range map[string]string{"anonymous": "request/denied", "operator": ""} {
		if _, err := connect(t, h, as).Toolkit(t.Context(), &loomv1.ToolkitPart{Data: []byte("x")}); fault.Code(err) != want {
			t.Errorf("%s: %v, want %q", as, err, want)
		}
	}
	for _, size := range []int{0, 192<<10 + 1} {
		if _, err := connect(t, h, "operator").Toolkit(t.Context(), &loomv1.ToolkitPart{Data: make([]byte, size)}); fault.Code(err) != "process/tool" {
			t.Errorf("a part of %d bytes: %v", size, err)
		}
	}
}
