package project_test

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func enrols(name string, key ed25519.PublicKey) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: &loomv1.SigningKey{Name: name, PublicKey: key}, Reason: "another device"}}
	}
}

func revokes(name string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_RevokeKey{RevokeKey: &loomv1.RevokeKey{Name: name, Reason: "it is lost"}}
	}
}

// enrol has the key that signs now enrol another, and returns that.
func (d *desk) enrol(name string) ed25519.PrivateKey {
	d.t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.give(enrols(name, public))
	return key
}

// by has another key sign what do presents.
func (d *desk) by(key ed25519.PrivateKey, do func() error) error {
	d.t.Helper()
	defer func(k ed25519.PrivateKey) { d.key = k }(d.key)
	d.key = key
	return do()
}

func (d *desk) answer(a *loomv1.Approval, v loomv1.ApprovalDecision) error {
	d.t.Helper()
	return d.present(ceo, d.sign(a, v, nil))
}

const (
	approve = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	reject  = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
)

// TestSIGN02_AnswersNameTheirKeyAndARevokedOneSignsNoMore: each answer has the name of
// its key; what a key signed and was taken stays, what comes after its end is refused,
// also what it had signed before.
func TestSIGN02_AnswersNameTheirKeyAndARevokedOneSignsNoMore(t *testing.T) {
	d := newDesk(t)
	first := d.key
	phone := d.enrol("phone")
	if err := d.present(ceo, d.order(enrols("phone", phone.Public().(ed25519.PublicKey)))); err != nil {
		t.Errorf("the same again: %v", err)
	}
	d.toApproval("p1")
	a := d.inbox()
	early := d.sign(a, reject, nil) // signed in time, presented after
	if err := d.by(phone, func() error { return d.answer(a, approve) }); err != nil {
		t.Fatal(err)
	}
	v, err := d.s.Look(project.Inbox, &loomv1.Query{Id: a.Id})
	if err != nil || v.Approvals[0].DecidedBy.GetName() != "phone" {
		t.Fatalf("decided by %v, %v", v.GetApprovals()[0].GetDecidedBy(), err)
	}
	// The other key is told who answered, and what.
	if err := d.answer(a, approve); fault.Code(err) != "approval/decided" || !strings.Contains(err.Error(), "approve by phone") {
		t.Errorf("a second answer: %v", err)
	}
	if err := d.by(phone, func() error { return d.present(ceo, d.order(revokes("first"))) }); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*loomv1.SignedCommand{"what it signed before": early, "what it signs": d.order(pauses(allWork, "", "why")), "its own return": d.order(enrols("first", first.Public().(ed25519.PublicKey)))} {
		n := len(d.events)
		if err := d.present(ceo, c); fault.Code(err) != "key/revoked" {
			t.Errorf("%s: %v, want key/revoked", what, err)
		}
		if e := d.since(n)[0]; e.GetCommandRefused() == nil && e.GetApprovalRefused() == nil {
			t.Errorf("%s: recorded %v", what, e)
		}
	}
	// The journal proves all of it, and that nothing of the revoked key came after.
	audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
	by := map[string]int{}
	for _, e := range d.events {
		act := audit.Look(e)
		if act == nil || !act.Signed {
			continue
		}
		if act.Err != nil {
			t.Errorf("%s %s: %v", act.Kind, act.What, act.Err)
		}
		by[act.Kind+" "+act.By]++
	}
	if by["key-enrolled first"] != 1 || by["approval-decided phone"] != 1 || by["key-revoked phone"] != 1 {
		t.Errorf("signed: %v", by)
	}
	// Had the project taken the revoked key's answer, the audit would say so.
	forged := proto.CloneOf(d.events[len(d.events)-1])
	forged.Actor = &loomv1.Identity{Kind: ceo, Name: "first"}
	forged.Fact = &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{Approval: a.Id, Decision: reject, Digest: a.Digest, Signed: early}}
	if act := audit.Look(forged); fault.Code(act.Err) != "key/revoked" {
		t.Errorf("a revoked key's answer in the journal: %v", act.Err)
	}
	// The owner of the machine can begin anew; then nothing of it holds.
	third, key, err := ed25519.GenerateKey(nil)
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
	}{"the new first key": {key, ""}, "the phone": {phone, "approval/signature"}, "the old first key": {first, "approval/signature"}} {
		if err := d.by(tt.key, func() error { return d.present(ceo, d.order(resumes(allWork, "", "it is open"))) }); fault.Code(err) != tt.want && tt.want != "" || tt.want == "" && fault.Status(err) == fault.Refused {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

// TestSIGN02_ANewProjectTakesTheKeysOver: it begins with the keys of the deployment, by
// the orders that made them, and by no others.
func TestSIGN02_ANewProjectTakesTheKeysOver(t *testing.T) {
	d := newDesk(t)
	public, phone, _ := ed25519.GenerateKey(nil)
	inSystem := func(edit func(*loomv1.CeoCommand)) *loomv1.SignedCommand {
		return d.order(func(c *loomv1.CeoCommand) { edit(c); c.Project = project.System })
	}
	enrolled := inSystem(enrols("phone", public))
	first := d.key
	d.key = phone
	revoked := inSystem(revokes("first"))
	d.key = first
	byStranger := proto.CloneOf(enrolled)
	byStranger.Signature[0] ^= 1
	for _, tt := range []struct {
		name, code string
		by         loomv1.IdentityKind
		orders     []*loomv1.SignedCommand
	}{
		{"all of them", "", loomv1.IdentityKind_IDENTITY_KIND_HOST, []*loomv1.SignedCommand{enrolled, revoked}},
		{"from an operator", "command/unauthorized", loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, []*loomv1.SignedCommand{enrolled}},
		{"signed by nobody", "approval/signature", loomv1.IdentityKind_IDENTITY_KIND_HOST, []*loomv1.SignedCommand{byStranger}},
		{"in another order", "approval/signature", loomv1.IdentityKind_IDENTITY_KIND_HOST, []*loomv1.SignedCommand{revoked, enrolled}},
		{"signed for a project", "approval/identity", loomv1.IdentityKind_IDENTITY_KIND_HOST, []*loomv1.SignedCommand{d.order(enrols("phone", public))}},
		{"not about keys", "command/malformed", loomv1.IdentityKind_IDENTITY_KIND_HOST, []*loomv1.SignedCommand{inSystem(pauses(allWork, "", "why"))}},
	} {
		s := project.New(d.cfg)
		later := d.now.Add(24 * time.Hour) // long after the orders were given
		register := &loomv1.RegisterProject{Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"}, Keys: tt.orders}
		events, answer, err := s.Do(later, &loomv1.Command{Project: "shop", Actor: &loomv1.Identity{Kind: tt.by, Name: "h1"}, Body: &loomv1.Command_RegisterProject{RegisterProject: register}})
		if err != nil {
			t.Fatal(err)
		}
		if fault.Code(fault.FromProto(answer.Error)) != tt.code || tt.code != "" && len(events) > 0 {
			t.Errorf("%s: %v with %d events, want %q", tt.name, answer.Error, len(events), tt.code)
		}
		if tt.code != "" {
			continue
		}
		v, err := s.Look(project.Keys, &loomv1.Query{Filter: project.KeyOrders})
		if err != nil || len(v.Keys) != 2 || v.Keys[0].RevokedAt == nil || v.Keys[1].Name != "phone" || v.Keys[1].RevokedAt != nil || len(v.KeyOrders) != 2 {
			t.Errorf("%s: %v, %v", tt.name, v, err)
		}
		audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
		for _, e := range events {
			if act := audit.Look(e); act != nil && act.Err != nil {
				t.Errorf("%s: %s: %v", tt.name, act.Kind, act.Err)
			}
		}
	}
}

// TestSIGN02_AProjectThatWasNotServedTakesWhatItMissed: registered again, it takes the
// orders that were given meanwhile, and changes nothing where it has them.
func TestSIGN02_AProjectThatWasNotServedTakesWhatItMissed(t *testing.T) {
	d := newDesk(t)
	phone := d.enrol("phone")
	inSystem := func(edit func(*loomv1.CeoCommand)) *loomv1.SignedCommand {
		return d.order(func(c *loomv1.CeoCommand) { edit(c); c.Project = project.System })
	}
	first := d.key
	orders := []*loomv1.SignedCommand{inSystem(enrols("phone", phone.Public().(ed25519.PublicKey)))}
	d.key = phone
	orders = append(orders, inSystem(revokes("first")))
	d.key = first
	again := func(kind loomv1.IdentityKind, orders []*loomv1.SignedCommand) error {
		_, err := d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: kind, Name: "h1"},
			Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
				Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"}, Keys: orders,
			}},
		})
		return err
	}
	d.now = d.now.Add(24 * time.Hour)
	if err := again(anOperator, orders); fault.Code(err) != "command/unauthorized" {
		t.Errorf("an operator says which keys there are: %v", err)
	}
	for _, want := range []int{1, 0} {
		n := len(d.events)
		if err := again(loomv1.IdentityKind_IDENTITY_KIND_HOST, orders); err != nil {
			t.Fatal(err)
		}
		if got := d.since(n); len(got) != want || want > 0 && got[0].GetKeyRevoked().GetName() != "first" {
			t.Fatalf("taken: %v, want %d facts", got, want)
		}
	}
	if err := d.present(ceo, d.order(pauses(allWork, "", "says the thief"))); fault.Code(err) != "key/revoked" {
		t.Errorf("the key that was revoked meanwhile: %v", err)
	}
	// What was revoked here alone does not come back by an order of the deployment.
	d.key = phone
	d.enrol("tablet")
	d.give(revokes("tablet"))
	n := len(d.events)
	if err := again(loomv1.IdentityKind_IDENTITY_KIND_HOST, append(orders, inSystem(enrols("tablet", first.Public().(ed25519.PublicKey))))); err != nil || len(d.since(n)) > 0 {
		t.Errorf("a name that was revoked: %v, %v", d.since(n), err)
	}
	audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
	for _, e := range d.events {
		if act := audit.Look(e); act != nil && act.Err != nil {
			t.Errorf("the audit of %s %s: %v", act.Kind, act.What, act.Err)
		}
	}
}

// twoKeyed is a desk whose bugs are approved with two keys.
func twoKeyed(t *testing.T) *desk {
	d := newDesk(t)
	builtin, _ := processes.Builtin(roles.Builtin()).Get(project.AutoBug)
	def := proto.CloneOf(builtin)
	for _, n := range def.Nodes {
		if n.Id == "approve" {
			n.Keys = 2
		}
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
	return d
}

// TestSIGN02_TwoOfNAreTwoDifferentKeys: one key's answers, however many, let nothing
// go on; another that holds does; to refuse takes one.
func TestSIGN02_TwoOfNAreTwoDifferentKeys(t *testing.T) {
	d := twoKeyed(t)
	phone := d.enrol("phone")
	bead := d.toApproval("p1")
	a := d.inbox()
	if a.Keys != 2 || workflow.Digest(a) != a.Digest {
		t.Fatalf("asked: %v", a)
	}
	once := proto.CloneOf(a)
	if once.Keys = 1; workflow.Digest(once) == a.Digest {
		t.Error("the digest does not cover how many keys it takes")
	}
	saying := func(comment string) *loomv1.SignedCommand {
		return d.sign(a, approve, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = comment })
	}
	for _, comment := range []string{"", "I mean it", "still"} {
		if err := d.present(ceo, saying(comment)); err != nil {
			t.Fatal(err)
		}
	}
	again := d.inbox() // it still waits, and shows who has signed
	if len(again.Signed) != 1 || again.Signed[0].Key != "first" || d.status(bead) != "waiting" {
		t.Fatalf("signed by one: %v", again.Signed)
	}
	twice := saying("still")
	for range 2 { // and what is sent twice is heard once
		n := len(d.events)
		if err := d.present(ceo, twice); err != nil || len(d.since(n)) > 0 {
			t.Errorf("the same again: %v, %v", d.since(n), err)
		}
	}
	x := again.Execution
	for what, edit := range map[string]func(*loomv1.CeoCommand){"past it": moves(x, "commit", "I want it"), "to the end": moves(x, "land", "I want it")} {
		if err := d.present(ceo, d.order(edit)); fault.Code(err) != "key/missing" {
			t.Errorf("one key moves %s: %v, want key/missing", what, err)
		}
	}
	// What a revoked key has signed counts no more.
	n := len(d.events)
	if err := d.by(phone, func() error { return d.present(ceo, d.order(revokes("first"))) }); err != nil {
		t.Fatal(err)
	}
	if err := d.by(phone, func() error { return d.answer(a, approve) }); err != nil {
		t.Fatal(err)
	}
	if got := d.inbox(); got.Decision != 0 {
		t.Fatalf("a revoked key counts: %v", got)
	}
	tablet := ed25519.PrivateKey(nil)
	_ = d.by(phone, func() error { tablet = d.enrol("tablet"); return nil })
	if err := d.by(tablet, func() error { return d.answer(a, approve) }); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.since(n), func(e *loomv1.Event) bool { return e.GetApprovalDecided() != nil && e.Actor.Name == "tablet" }) {
		t.Fatal("two keys that hold do not approve")
	}
	// The audit counts by itself.
	for name, leave := range map[string]func(*loomv1.Event) bool{
		"as it was":              func(*loomv1.Event) bool { return true },
		"without the other's":    func(e *loomv1.Event) bool { return e.GetApprovalSigned() == nil || e.Actor.Name != "phone" },
		"with the revoked key's": func(e *loomv1.Event) bool { return e.GetApprovalSigned() == nil || e.Actor.Name == "first" },
	} {
		audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
		var bad []string
		for _, e := range d.events {
			if !leave(e) {
				continue
			}
			if act := audit.Look(e); act != nil && act.Err != nil {
				bad = append(bad, fault.Code(act.Err))
			}
		}
		if want := map[bool]string{true: "", false: "key/missing"}[name == "as it was"]; strings.Join(bad, " ") != want {
			t.Errorf("%s: the audit says %q, want %q", name, bad, want)
		}
	}
	// It goes on where the past was cut off, from the state as of any event.
	for cut := range d.events {
		s := project.New(d.cfg)
		for _, e := range d.events[:cut] {
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
		audit.Begin("shop", s.Snapshot())
		for i, e := range d.events[cut:] {
			if act := audit.Look(e); act != nil && act.Err != nil {
				t.Errorf("cut at %d: event %d, %s: %v", cut, cut+i, act.Kind, act.Err)
			}
		}
		for _, e := range d.events[:cut] {
			if act := audit.Look(e); act != nil && act.Signed && act.Err == nil {
				t.Errorf("cut at %d: %s from before it counts again", cut, act.Kind)
			}
		}
	}
	// To refuse takes one.
	other := twoKeyed(t)
	bead = other.toApproval("p2")
	if err := other.answer(other.inbox(), reject); err != nil || other.status(bead) != "failed" {
		t.Errorf("one key refuses: %v, the bead is %s", err, other.status(bead))
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
