package project_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// waits is a change that is verified and holds the lock, or waits for it, to land.
type waits struct {
	attempt, bead, digest string
	who                   *loomv1.Claimant
	token                 uint64
}

// toLand brings a bug to where its verified change is to land.
func (d *desk) toLand(n int, paths ...string) waits {
	d.t.Helper()
	w := waits{digest: fmt.Sprintf("p%d", n), who: &loomv1.Claimant{Agent: fmt.Sprintf("engineering-manager/%d", n), Host: "h1", Epoch: 1}}
	w.bead = d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: "bug " + w.digest}).Bead
	d.work("qa-engineer", triaged())
	d.work("backend-engineer", outcome(more, nil))
	d.work("backend-engineer", changing(w.digest, paths...))
	d.approve()
	d.work("engineering-manager", candidate(w.digest, uint64(n)))
	d.work("qa-engineer", verified("c-"+w.digest, true))
	a := d.s.Queued()[0]
	w.attempt = a.Attempt
	d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: w.who}}})
	w.token = d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: a.Attempt, Holder: w.who}}}).GetLock().GetToken()
	if w.token == 0 {
		d.ok(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: a.Attempt, Claimant: w.who, WaitsFor: "lock"}}})
	}
	return w
}

func newTrainDesk(t *testing.T, most uint32) *desk {
	d := newDesk(t)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Train: most},
	}}})
	return d
}

func (d *desk) form(w waits) (*loomv1.Train, error) {
	answer, err := d.do(&loomv1.Command{Body: &loomv1.Command_FormTrain{FormTrain: &loomv1.FormTrain{Token: w.token, Holder: w.who}}})
	return answer.GetTrain(), err
}

// rides is what a test of a whole train shows of its cars.
func rides(token uint64, cars []*loomv1.TrainCar) map[string]*loomv1.Car {
	head := fmt.Sprintf("m-%s", cars[len(cars)-1].Execution)
	all := map[string]*loomv1.Car{}
	for _, c := range cars {
		all[c.Attempt] = &loomv1.Car{
			Verified: c.Candidate.Commit, Head: head, Token: token,
			Candidate: &loomv1.Candidate{Commit: "m-" + c.Execution, PatchDigest: c.Change.PatchDigest, Token: c.Token},
			Checks:    []*loomv1.CheckRun{{Command: "go test ./...", Passed: true, Commit: head}},
		}
	}
	return all
}

func (d *desk) record(w waits, cars map[string]*loomv1.Car) error {
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{Token: w.token, Holder: w.who, Cars: cars}}})
	return err
}

// arrive has the holder answer and give the lock back, and the next one claim.
func (d *desk) arrive(w waits, out *loomv1.Outcome) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: w.token, Holder: w.who}}})
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: out}}})
}

// turn has a car that waited go on when the lock is granted to it.
func (d *desk) turn(w *waits) {
	d.t.Helper()
	for _, a := range d.s.Queued() {
		if a.Attempt == w.attempt {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: w.who}}})
		}
	}
	w.token = d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: w.attempt, Holder: w.who}}}).GetLock().GetToken()
	if w.token == 0 {
		d.t.Fatalf("%s is not granted the lock", w.attempt)
	}
}

func TestBYD08_DisjointChangesLandTogether(t *testing.T) {
	longtest.Skip(t)
	d := newTrainDesk(t, 8)
	first, second := d.toLand(1, "a.go"), d.toLand(2, "b.go")
	clashing, third := d.toLand(3, "b.go", "c.go"), d.toLand(4, "d.go")
	train, err := d.form(first)
	if err != nil || len(train.Cars) != 3 || train.Cars[0].Attempt != first.attempt || train.Cars[1].Attempt != second.attempt || train.Cars[2].Attempt != third.attempt {
		t.Fatalf("train %v, %v; want %s, %s and %s, and not %s", train, err, first.attempt, second.attempt, third.attempt, clashing.attempt)
	}
	if c := train.Cars; c[0].Token != first.token || c[1].Token <= c[0].Token || c[2].Token <= c[1].Token || train.Fence != c[2].Token {
		t.Errorf("tokens %d, %d, %d under fence %d; want them to rise from %d", c[0].Token, c[1].Token, c[2].Token, train.Fence, first.token)
	}
	if err := d.record(first, rides(first.token, train.Cars)); err != nil {
		t.Fatal(err)
	}
	d.restart()
	d.arrive(first, landed("m-"+train.Cars[0].Execution))
	for _, w := range []*waits{&second, &clashing, &third} {
		d.turn(w)
		out := landed("m-" + w.bead + "-x1")
		if w.attempt == clashing.attempt {
			out = landed("c-" + w.digest)
		}
		d.arrive(*w, out)
		if got := d.status(w.bead); got != "closed" {
			t.Errorf("bead %s is %s", w.bead, got)
		}
	}
}

// What git has moved in one step is in the journal in one append: of all that rode
// and are not held, whoever of them says so first.
func TestBYD08_ATrainLandsInTheJournalAtOnce(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		head string // that the landing names; empty for the train's
		says int    // whose attempt says that it has landed
		held bool   // the second, meanwhile
		want [3]string
	}{
		"the driver says so":                 {"", 0, false, [3]string{"closed", "closed", "closed"}},
		"the driver died, and the next does": {"", 1, false, [3]string{"closed", "closed", "closed"}},
		"what is held learns of it later":    {"", 0, true, [3]string{"closed", "in_progress", "closed"}},
		"another train":                      {"m-other", 0, false, [3]string{"closed", "in_progress", "in_progress"}},
	} {
		t.Run("BYD08 "+name, func(t *testing.T) {
			d := newTrainDesk(t, 8)
			all := []waits{d.toLand(1, "a.go"), d.toLand(2, "b.go"), d.toLand(3, "c.go")}
			train, err := d.form(all[0])
			if err != nil {
				t.Fatal(err)
			}
			cars := rides(all[0].token, train.Cars)
			if err := d.record(all[0], cars); err != nil {
				t.Fatal(err)
			}
			if tt.held {
				d.give(pauses(loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, all[1].bead+"-x1", "wait"))
			}
			who := all[tt.says]
			if tt.says > 0 {
				d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: all[0].token, Holder: all[0].who}}})
				d.turn(&who)
			}
			out := landed("m-" + train.Cars[tt.says].Execution)
			if out.Landing.Head = tt.head; tt.head == "" {
				out.Landing.Head = cars[who.attempt].Head
			}
			d.arrive(who, out)
			d.restart()
			for i, w := range all {
				if got := d.status(w.bead); got != tt.want[i] {
					t.Errorf("bead %s is %s, want %s", w.bead, got, tt.want[i])
				}
			}
		})
	}
}

// The next holder of the lock settles a train whose driver died before it said that
// it had landed, whatever that holder is there for, and answers for itself alone.
func TestBYD08_WhoIsGrantedNextSettlesTheTrain(t *testing.T) {
	d := newTrainDesk(t, 8)
	driver, clashing, rider, held := d.toLand(1, "a.go"), d.toLand(2, "a.go"), d.toLand(3, "c.go"), d.toLand(4, "d.go")
	train, err := d.form(driver)
	if err != nil || len(train.Cars) != 3 {
		t.Fatalf("train %v, %v", train, err)
	}
	cars := rides(driver.token, train.Cars)
	if err := d.record(driver, cars); err != nil {
		t.Fatal(err)
	}
	d.give(pauses(loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, held.bead+"-x1", "wait"))
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: driver.token, Holder: driver.who}}})
	d.restart()
	d.turn(&clashing)
	head := cars[driver.attempt].Head
	claim := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: clashing.attempt, Holder: clashing.who}}}).GetLock()
	if !slices.Equal(claim.GetOpenTrains(), []string{head}) {
		t.Fatalf("the holder is told of trains %q, want %q", claim.GetOpenTrains(), head)
	}
	settle := func(w waits, l *loomv1.Landing) error {
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_SettleTrain{SettleTrain: &loomv1.SettleTrain{Token: w.token, Holder: w.who, Landing: l}}})
		return err
	}
	found := &loomv1.Landing{Commit: head, Head: head, Ref: "refs/heads/main", Target: "main", Token: clashing.token}
	stranger, nobody := clashing, clashing
	stranger.who, nobody.who = rider.who, nil
	for name, tt := range map[string]struct {
		code string
		w    waits
		l    *loomv1.Landing
	}{
		"who does not hold it": {"lock/stale", stranger, found},
		"the driver, by now":   {"lock/stale", driver, found},
		"nobody":               {"lock/invalid", nobody, found},
		"no landing":           {"command/malformed", clashing, nil},
		"no train":             {"command/malformed", clashing, &loomv1.Landing{Ref: "refs/heads/main"}},
		"a train of nobody's":  {"", clashing, &loomv1.Landing{Head: "m-other", Ref: "refs/heads/main"}},
	} {
		n := len(d.events)
		if err := settle(tt.w, tt.l); fault.Code(err) != tt.code || len(d.events) != n {
			t.Errorf("%s: %v, and %d facts; want %q and none", name, err, len(d.events)-n, tt.code)
		}
	}
	if err := settle(clashing, found); err != nil {
		t.Fatal(err)
	}
	n := len(d.events)
	if err := settle(clashing, found); err != nil || len(d.events) != n {
		t.Errorf("again: %v, and %d facts", err, len(d.events)-n)
	}
	d.restart()
	for w, want := range map[*waits]string{&driver: "closed", &rider: "closed", &held: "in_progress", &clashing: "in_progress"} {
		if got := d.status(w.bead); got != want {
			t.Errorf("bead %s is %s, want %s", w.bead, got, want)
		}
	}
	if got := d.execution(driver.bead + "-x1").Landing.GetCommit(); got != cars[driver.attempt].Candidate.Commit {
		t.Errorf("the driver's landing is of %s", got)
	}
	out := outcome(failed, map[string]any{"fault": ""})
	out.Code = "git/target-moved"
	d.arrive(clashing, out)
}

// One of the cars is granted the lock next: it is told of no train but for the others'
// sake, and answers for its own change itself.
func TestBYD08_ACarThatSettlesAnswersForItself(t *testing.T) {
	d := newTrainDesk(t, 8)
	driver, rider := d.toLand(1, "a.go"), d.toLand(2, "b.go")
	train, err := d.form(driver)
	if err != nil {
		t.Fatal(err)
	}
	cars := rides(driver.token, train.Cars)
	if err := d.record(driver, cars); err != nil {
		t.Fatal(err)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: driver.token, Holder: driver.who}}})
	d.turn(&rider)
	head := cars[rider.attempt].Head
	d.ok(&loomv1.Command{Body: &loomv1.Command_SettleTrain{SettleTrain: &loomv1.SettleTrain{
		Token: rider.token, Holder: rider.who, Landing: &loomv1.Landing{Commit: head, Head: head, Ref: "refs/heads/main", Target: "main"},
	}}})
	if a, b := d.status(driver.bead), d.status(rider.bead); a != "closed" || b != "in_progress" {
		t.Errorf("the driver's bead is %s and the rider's %s", a, b)
	}
	d.arrive(rider, landed("m-"+rider.bead+"-x1"))
	if got := d.status(rider.bead); got != "closed" {
		t.Errorf("the rider's bead is %s", got)
	}
}

// A landing counts with the evidence of the train that it rode on, and no other.
func TestBYD08_BYD12_ALandingOffATrainNeedsItsEvidence(t *testing.T) {
	d := newTrainDesk(t, 8)
	first, second := d.toLand(1, "a.go"), d.toLand(2, "b.go")
	train, err := d.form(first)
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*loomv1.Car){
		"another patch":             func(c *loomv1.Car) { c.Candidate.PatchDigest = "p9" },
		"a check that failed":       func(c *loomv1.Car) { c.Checks[0].Passed = false },
		"a check of another commit": func(c *loomv1.Car) { c.Checks[0].Commit = "m-other" },
		"no check":                  func(c *loomv1.Car) { c.Checks = nil },
		"another candidate":         func(c *loomv1.Car) { c.Verified = "c-p9" },
		"another grant":             func(c *loomv1.Car) { c.Token-- },
		"another car's token":       func(c *loomv1.Car) { c.Candidate.Token = first.token },
		"no commit":                 func(c *loomv1.Car) { c.Candidate.Commit = "" },
	} {
		cars := rides(first.token, train.Cars)
		edit(cars[second.attempt])
		n := len(d.events)
		if err := d.record(first, cars); err == nil || len(d.events) != n {
			t.Errorf("%s: %v, and %d facts; want a refusal of all of it", name, err, len(d.events)-n)
		}
	}
	d.arrive(first, landed("c-"+first.digest))
	d.turn(&second)
	d.arrive(second, landed("m-"+second.bead+"-x1"))
	if got := d.status(second.bead); got == "closed" {
		t.Error("a commit of a train that was not recorded counts as landed")
	}
}

func TestBYD08_WhoMadeATrainFailIsToldAndRidesNoMore(t *testing.T) {
	d := newTrainDesk(t, 8)
	first, second, third := d.toLand(1, "a.go"), d.toLand(2, "b.go"), d.toLand(3, "c.go")
	train, err := d.form(first)
	if err != nil {
		t.Fatal(err)
	}
	culprit := train.Cars[1]
	bad := map[string]*loomv1.Car{culprit.Attempt: {Verified: culprit.Candidate.Commit, Refused: "it breaks the build", Token: first.token}}
	if err := d.record(first, bad); err != nil {
		t.Fatal(err)
	}
	d.arrive(first, landed("c-"+first.digest))
	d.turn(&second)
	if _, err := d.form(second); fault.Code(err) != "train/none" {
		t.Errorf("the culprit drives the next train: %v", err)
	}
	out := outcome(failed, map[string]any{"fault": ""})
	out.Code = "train/refused"
	d.arrive(second, out)
	if x := d.execution(second.bead + "-x1"); x.Nodes["commit"].Attempt == nil || x.Nodes["land"].Attempt != nil {
		t.Errorf("the nodes are %v, want the culprit's commit anew", x.Nodes)
	}
	d.turn(&third)
	if train, err := d.form(third); err != nil || len(train.Cars) != 1 {
		t.Errorf("the next train is %v, %v; want who was left, alone", train, err)
	}
}

func TestBYD08_WhoMayFormATrain(t *testing.T) {
	d := newTrainDesk(t, 0)
	first, second := d.toLand(1, "a.go"), d.toLand(2, "b.go")
	if _, err := d.form(first); fault.Code(err) != "train/none" {
		t.Errorf("a train where the project wants none: %v", err)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Train: 2},
	}}})
	train, err := d.form(first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.form(first)
	if err != nil || again.Fence <= train.Fence || len(again.Cars) != 2 {
		t.Errorf("again: %v, %v; want the same cars with new tokens", again, err)
	}
	if err := d.record(first, rides(first.token, train.Cars)); fault.Code(err) != "train/changed" {
		t.Errorf("the tokens of a train that was made anew count: %v", err)
	}
	stranger := first
	stranger.who = second.who
	nobody := first
	nobody.who = nil
	for code, w := range map[string]waits{"lock/stale": stranger, "lock/invalid": nobody} {
		if _, err := d.form(w); fault.Code(err) != code {
			t.Errorf("form: %v, want %s", err, code)
		}
		if err := d.record(w, rides(first.token, again.Cars)); fault.Code(err) != code {
			t.Errorf("record: %v, want %s", err, code)
		}
	}
	d.give(closes(second.bead+"-x1", "not wanted any more"))
	if err := d.record(first, rides(first.token, again.Cars)); fault.Code(err) != "train/changed" {
		t.Errorf("work that has ended rides on: %v", err)
	}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Train: project.MaxTrain + 1},
	}}}); fault.Code(err) != "project/invalid" {
		t.Errorf("a train of too many: %v", err)
	}
}

// decides has the work of a change rest on a decision that took an option.
func (d *desk) decides(w waits, option string) {
	d.t.Helper()
	x := d.execution(w.bead)
	d.decided(x.Id, "this way", to(option, chosen), to(x.Approved.Decision, leadsTo))
}

// TestBYD07_BYD08_WhatContradictsDoesNotRide has other work decide against a car
// before, and another after, the train is recorded.
func TestBYD07_BYD08_WhatContradictsDoesNotRide(t *testing.T) {
	d := newTrainDesk(t, 8)
	first, second, third := d.toLand(1, "a.go"), d.toLand(2, "b.go"), d.toLand(3, "c.go")
	train, err := d.form(first)
	if err != nil || len(train.Cars) != 3 {
		t.Fatalf("train %v, %v", train, err)
	}
	left, right := d.option("left", "rounding"), d.option("right", "rounding")
	up, down := d.option("up", "order"), d.option("down", "order")
	d.decides(second, left)
	d.decides(third, up)
	other := d.execution(d.another().Bead).Id
	d.decided(other, "that way", to(right, chosen))
	n := len(d.events)
	if err := d.record(first, rides(first.token, train.Cars)); fault.Code(err) != "train/changed" || len(d.events) != n {
		t.Fatalf("recorded with what contradicts: %v, and %d facts", err, len(d.events)-n)
	}
	train, err = d.form(first)
	if err != nil || len(train.Cars) != 2 || train.Cars[1].Attempt != third.attempt {
		t.Fatalf("formed anew: %v, %v; want %s and %s", train, err, first.attempt, third.attempt)
	}
	if err := d.record(first, rides(first.token, train.Cars)); err != nil {
		t.Fatal(err)
	}
	d.decided(other, "the other order", to(down, chosen)) // too late: the third may be on the target
	d.arrive(first, landed("m-"+first.bead+"-x1"))
	d.turn(&third)
	d.arrive(third, landed("m-"+third.bead+"-x1"))
	if got := d.status(third.bead); got != "closed" {
		t.Errorf("bead %s, which rode, is %s", third.bead, got)
	}
	d.resume(second.attempt, second.who)
	if _, err := d.acquire(second.attempt, second.who); fault.Code(err) != "graph/contradiction" {
		t.Errorf("what did not ride: %v", err)
	}
}

// A driver whose own change contradicts other work by now drives nobody.
func TestBYD07_BYD08_ADriverThatContradictsIsRefused(t *testing.T) {
	d := newTrainDesk(t, 8)
	first := d.toLand(1, "a.go")
	d.toLand(2, "b.go")
	left, right := d.option("left", "rounding"), d.option("right", "rounding")
	d.decides(first, left)
	d.decided(d.execution(d.another().Bead).Id, "that way", to(right, chosen))
	if _, err := d.form(first); fault.Code(err) != "graph/contradiction" {
		t.Errorf("it drives: %v", err)
	}
}
