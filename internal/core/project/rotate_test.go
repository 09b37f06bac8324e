package project_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func rotates(to []byte, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Rotate{Rotate: &loomv1.RotateKey{PublicKey: to, Reason: reason}}
	}
}

// TestSEC01_TheCEOsKeySignsForTheNext: from the order on, the new key alone
// counts, in every replay; the record has the order.
func TestSEC01_TheCEOsKeySignsForTheNext(t *testing.T) {
	d := newDesk(t)
	old, first := d.key, d.cfg.CEO
	second, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := len(d.events)
	d.give(rotates(second, "a year has passed"))
	facts := d.since(n)
	if len(facts) != 2 || facts[0].GetOverrideGiven().GetVerb() != "rotate" || string(facts[1].GetKeyRotated().GetTo()) != string(second) {
		t.Fatalf("recorded: %v", facts)
	}
	pause := pauses(allWork, "", "the office is closed")
	if err := d.present(ceo, d.order(pause)); fault.Code(err) != "approval/signature" {
		t.Errorf("the old key signs: %v, want approval/signature", err)
	}
	d.key = key
	d.give(pause)
	for what, tt := range map[string]struct {
		to   []byte
		want string
	}{
		"to itself: nothing changes":      {second, ""},
		"to one that was the CEO's":       {first, "override/invalid"},
		"to something that is no key":     {[]byte("short"), "override/invalid"},
		"to nothing":                      {nil, "override/invalid"},
		"to one that was, in other words": {append([]byte(nil), first...), "override/invalid"},
	} {
		if err := d.present(ceo, d.order(rotates(tt.to, "why"))); fault.Code(err) != tt.want {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
	// An operator who enrols another key begins anew.
	third, lost, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	again := d.cfg
	again.CEO = third
	fresh, err := project.Restore(again, d.s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	d.s, d.cfg = fresh, again
	for what, tt := range map[string]struct {
		key  ed25519.PrivateKey
		want string
	}{"the enrolled key": {lost, ""}, "the last": {key, "approval/signature"}, "the first": {old, "approval/signature"}} {
		d.key = tt.key
		if err := d.present(ceo, d.order(resumes(allWork, "", "it is open"))); fault.Code(err) != tt.want && tt.want != "" || tt.want == "" && fault.Status(err) == fault.Refused {
			t.Errorf("%s after an enrolment: %v, want %q", what, err, tt.want)
		}
	}
}

func TestSEC01_OnlyAHostNotesWhatItDoes(t *testing.T) {
	d := newDesk(t)
	for kind, want := range map[loomv1.IdentityKind]string{
		loomv1.IdentityKind_IDENTITY_KIND_HOST: "", loomv1.IdentityKind_IDENTITY_KIND_OPERATOR: "command/unauthorized",
	} {
		n := len(d.events)
		_, err := d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: kind, Name: "h"},
			Body:  &loomv1.Command_NoteSecurity{NoteSecurity: &loomv1.NoteSecurity{What: "insecure-network", Detail: "port 4222"}},
		})
		if fault.Code(err) != want || want == "" && d.since(n)[0].GetSecurityNoted().GetDetail() != "port 4222" {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}
