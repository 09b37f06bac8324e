package project_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// kit is a toolkit of a process, its digest of one letter.
func kit(process, letter string) *loomv1.Toolkit {
	return &loomv1.Toolkit{
		Process: process, Digest: strings.Repeat(letter, 64), Tools: []string{"pkg_" + letter},
		Parts: []*loomv1.BlobRef{{Sha256: strings.Repeat("e", 64), Size: 7}},
	}
}

func (d *desk) trust(t *loomv1.Toolkit, reason string) error {
	d.t.Helper()
	return d.say(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Trust{Trust: &loomv1.TrustTools{Toolkit: t, Reason: reason}}
	})
}

func (d *desk) distrust(process string) error {
	d.t.Helper()
	return d.say(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Distrust{Distrust: &loomv1.DistrustTools{Process: process, Reason: "no more"}}
	})
}

// kits lists what is trusted, "PROCESS letter".
func (d *desk) kits() string {
	d.t.Helper()
	v, err := d.s.Look(project.Permitted, &loomv1.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	var list []string
	for _, t := range v.Toolkits {
		list = append(list, t.Process+" "+t.Digest[:1])
	}
	return strings.Join(list, ", ")
}

// TestPROC07_ToolsAreTrustedByTheCEO trusts tools of two processes, again, and no
// more.
func TestPROC07_ToolsAreTrustedByTheCEO(t *testing.T) {
	d := newDesk(t)
	for _, k := range []*loomv1.Toolkit{kit("tender", "a"), kit("other", "a"), kit("tender", "b"), kit("tender", "a")} {
		if err := d.trust(k, "read"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := d.kits(), "other a, tender b, tender a"; got != want {
		t.Errorf("trusted are %q, want %q", got, want)
	}
	v, _ := d.s.Look(project.Permitted, &loomv1.Query{})
	if k := v.Toolkits[2]; k.Reason != "read" || k.By.GetKind() != ceo || k.At == nil {
		t.Errorf("who, when and why: %v", k)
	}
	if err := d.distrust("tendre"); fault.Code(err) != "process/unknown" || !strings.Contains(err.Error(), "tender") {
		t.Errorf("a name that is near: %v", err)
	}
	if err := d.distrust("tender"); err != nil {
		t.Error(err)
	}
	if got, want := d.kits(), "other a"; got != want {
		t.Errorf("trusted are %q, want %q", got, want)
	}
	again, err := project.Restore(d.cfg, proto.CloneOf(d.s.Snapshot()))
	if err != nil || len(again.Snapshot().Toolkits) != 1 {
		t.Errorf("after a restart: %v, %v", again.Snapshot().Toolkits, err)
	}
}

// TestPROC07_WhatNoHostCouldUseIsNotTrusted refuses each with its reason, and
// changes nothing.
func TestPROC07_WhatNoHostCouldUseIsNotTrusted(t *testing.T) {
	longtest.Skip(t)
	for name, edit := range map[string]func(*loomv1.Toolkit){
		"no process":       func(k *loomv1.Toolkit) { k.Process = "" },
		"no digest":        func(k *loomv1.Toolkit) { k.Digest = "" },
		"upper case":       func(k *loomv1.Toolkit) { k.Digest = strings.Repeat("A", 64) },
		"no tools":         func(k *loomv1.Toolkit) { k.Tools = nil },
		"too many tools":   func(k *loomv1.Toolkit) { k.Tools = make([]string, 201) },
		"a tool unnamed":   func(k *loomv1.Toolkit) { k.Tools = []string{""} },
		"no parts":         func(k *loomv1.Toolkit) { k.Parts = nil },
		"too many parts":   func(k *loomv1.Toolkit) { k.Parts = make([]*loomv1.BlobRef, 129) },
		"a part unnamed":   func(k *loomv1.Toolkit) { k.Parts[0].Sha256 = "x" },
		"an empty part":    func(k *loomv1.Toolkit) { k.Parts[0].Size = 0 },
		"a part too large": func(k *loomv1.Toolkit) { k.Parts[0].Size = 192<<10 + 1 },
	} {
		d := newDesk(t)
		k := kit("tender", "a")
		edit(k)
		if err := d.trust(k, "read"); fault.Code(err) != "process/tool" || d.kits() != "" {
			t.Errorf("%s: %v, trusted are %q", name, err, d.kits())
		}
	}
	d := newDesk(t)
	if err := d.trust(kit("tender", "a"), ""); fault.Code(err) != "override/invalid" {
		t.Errorf("without a reason: %v", err)
	}
	err := d.present(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, d.order(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Trust{Trust: &loomv1.TrustTools{Toolkit: kit("tender", "a"), Reason: "mine"}}
	}))
	if fault.Code(err) != "approval/identity" || d.kits() != "" {
		t.Errorf("an operator trusts: %v", err)
	}
	d.s.Agree(format.Agreed{Number: 1, Host: "h-old"})
	if err := d.trust(kit("tender", "a"), "read"); fault.Code(err) != "deployment/older-host" || d.kits() != "" {
		t.Errorf("while a host cannot read it: %v", err)
	}
}

// TestPROC07_ABriefHasTheToolsThatAreTrusted dispatches work by a process with
// tools before they are trusted, and after.
func TestPROC07_ABriefHasTheToolsThatAreTrusted(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted *loomv1.Toolkit
		want    string
	}{
		"none":            {nil, ""},
		"other bytes":     {kit("kit", "b"), ""},
		"another process": {kit("kat", "a"), ""},
		"these":           {kit("kit", "a"), "pkg_a"},
	} {
		t.Run("PROC07 "+name, func(t *testing.T) {
			d := newDesk(t)
			def := &loomv1.Definition{
				Name: "kit", Version: "1.0", Toolkit: strings.Repeat("a", 64), Guide: &loomv1.Guide{Persona: "p"},
				Nodes: []*loomv1.NodeDefinition{
					{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START},
					{Id: "t", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "analyst", Description: "T."},
					{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
				},
				Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "t"}, {Id: "e2", From: "t", To: "end"}},
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
			if tt.trusted != nil {
				if err := d.trust(tt.trusted, "read"); err != nil {
					t.Fatal(err)
				}
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Project: "shop", Goal: "g", Process: "kit"}}}})
			b, _ := d.claim("analyst")
			if got := strings.Join(b.Toolkit.GetTools(), " "); got != tt.want {
				t.Errorf("the brief has %q, want %q", got, tt.want)
			}
		})
	}
}
