package git

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// yard is a repository with verified candidates, all on one tip.
type yard struct {
	*fixture
	changes    []*loomv1.Change
	candidates []*loomv1.Candidate
	log        string // the hook writes a line for each commit
}

func newYard(t testing.TB, cars int) *yard {
	y := &yard{fixture: newFixture(t), log: filepath.Join(t.TempDir(), "hooks")}
	y.hook("pre-commit", "#!/bin/sh\necho \"$(git symbolic-ref --short HEAD)\" >> "+y.log+"\n")
	for n := 1; n <= cars; n++ {
		y.changes = append(y.changes, y.propose(n, y.editing(fmt.Sprintf("car-%d.txt", n), "cargo\n")))
		y.candidates = append(y.candidates, y.candidate(n, uint64(n), y.changes[n-1]))
	}
	return y
}

// request is a train of all cars under a grant; the first has the grant's token.
func (y *yard) train(grant uint64) TrainRequest {
	req := TrainRequest{Deployment: deployment, Target: "main", Token: grant + uint64(len(y.changes)) - 1}
	for i, change := range y.changes {
		req.Cars = append(req.Cars, CarRequest{y.request(i+1, grant+uint64(i), change), y.candidates[i]})
	}
	return req
}

func (y *yard) stack(req TrainRequest) []*loomv1.Candidate {
	y.t.Helper()
	row, err := y.com.Stack(y.t.Context(), req)
	if err != nil {
		y.t.Fatal(err)
	}
	var made []*loomv1.Candidate
	for i, s := range row {
		if s.Err != nil {
			y.t.Fatalf("car %d: %v", i+1, s.Err)
		}
		made = append(made, s.Candidate)
	}
	return made
}

// arrive is the request to land so many cars.
func (y *yard) arrive(token uint64, cars []*loomv1.Candidate) LandRequest {
	last := len(cars)
	req := y.landRequest(last, token, cars[last-1])
	req.Below = cars[:last-1]
	return req
}

func (y *yard) hooked() int { return strings.Count(read(y.t, filepath.Dir(y.log), "hooks"), "\n") }

// each wants every one of the first cars once on the target, in order and under
// tokens that rise, and none of the others.
func (y *yard) each(landed int) {
	y.t.Helper()
	for n := range len(y.changes) {
		want := 0
		if n < landed {
			want = 1
		}
		if got := y.copies(n+1, "main"); got != want {
			y.t.Errorf("%d copies of car %d on main, want %d", got, n+1, want)
		}
	}
	last := uint64(0)
	for _, oid := range strings.Fields(y.user("log", "--reverse", "--format=%H", "main")) {
		if m, err := y.repo.inspect(y.t.Context(), oid); err != nil || m.execution != "" && m.token <= last {
			y.t.Errorf("commit %s has token %d after %d, %v", oid, m.token, last, err)
		} else if m.execution != "" {
			last = m.token
		}
	}
}

func TestBYD08_ATrainLandsAsOne(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 4)
	before := y.hooked()
	req := y.train(10)
	cars := y.stack(req)
	if cars[0].Commit != y.candidates[0].Commit || y.hooked() != before+3 {
		t.Errorf("the first is %s, verified as %s; hooks ran for %d commits, want 3", cars[0].Commit, y.candidates[0].Commit, y.hooked()-before)
	}
	for i, c := range cars[1:] {
		m, err := y.repo.inspect(t.Context(), c.Commit)
		if err != nil || m.parent != cars[i].Commit || m.token != uint64(11+i) || m.digest != y.changes[i+1].PatchDigest || m.bead != bead(i+2) {
			t.Errorf("car %d is %+v, %v", i+2, m, err)
		}
	}
	if y.head("main") != cars[0].Base {
		t.Fatal("the target moved before anything was tested")
	}
	landing, err := y.com.Land(t.Context(), y.arrive(req.Token, cars))
	if err != nil || landing.Commit != cars[3].Commit || y.head("main") != cars[3].Commit || y.status() != "" {
		t.Fatalf("landing %v, %v; status %q", landing, err, y.status())
	}
	y.each(4)
	if landing.Head != cars[3].Commit {
		t.Errorf("the train's last commit is %s, and it landed with %q", cars[3].Commit, landing.Head)
	}
	for head, want := range map[string]string{cars[3].Commit: cars[3].Commit, strings.Repeat("1", 40): "", "": ""} {
		again := y.landRequest(2, req.Token, cars[1])
		again.Head = head
		if l, err := y.com.Land(t.Context(), again); err != nil || l.Head != want {
			t.Errorf("asked for head %q: %v, %v; want %q", head, l, err, want)
		}
	}
	if refs := y.user("for-each-ref", "refs/loom/train", "refs/loom/candidate"); refs != "" {
		t.Errorf("left behind: %s", refs)
	}
	for n := range 4 { // what each car's own landing finds
		if l := y.land(n+1, uint64(20+n), y.candidates[n]); l.Commit != cars[n].Commit {
			t.Errorf("car %d landed as %s, and is told %s", n+1, cars[n].Commit, l.Commit)
		}
	}
	y.each(4)
}

func TestBYD08_PartOfATrainLands(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 4)
	req := y.train(10)
	cars := y.stack(req)
	if _, err := y.com.Land(t.Context(), y.arrive(req.Token, cars[:2])); err != nil {
		t.Fatal(err)
	}
	y.each(2)
	_, err := y.com.Land(t.Context(), y.landRequest(4, 20, y.candidates[3]))
	wantCode(t, err, "git/target-moved")
}

// Who cannot ride is left out, with the reason, and the others ride without.
func TestBYD08_WhoCannotRideIsLeftOut(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 4)
	y.write("car-2.txt", "somebody else was here\n")
	y.user("add", ".")
	y.user("commit", "-q", "-m", "meanwhile")
	y.hook("commit-msg", "#!/bin/sh\nif grep -q 'b3-x1' \"$1\"; then exit 1; fi\n")
	row, err := y.com.Stack(t.Context(), y.train(10))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, row[1].Err, "git/conflict")
	wantCode(t, row[2].Err, "git/hook-failed")
	if row[0].Candidate.GetToken() != 10 || row[0].Candidate.GetBase() != y.head("main") || row[3].Candidate.GetBase() != row[0].Candidate.GetCommit() {
		t.Errorf("the others are %v and %v on %s", row[0].Candidate, row[3].Candidate, y.head("main"))
	}
}

// A driver that slept is refused by git whatever it tries, a train that is not
// what was said, or that others have built over, does not land.
func TestBYD08_P6_ATrainIsFencedAndChecked(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 3)
	req := y.train(10)
	cars := y.stack(req)
	wrong := y.arrive(req.Token, cars)
	wrong.Below = []*loomv1.Candidate{cars[0], {Commit: cars[1].Commit, Base: cars[0].Commit, PatchDigest: cars[2].PatchDigest}}
	_, err := y.com.Land(t.Context(), wrong)
	wantCode(t, err, "git/damaged")
	hole := y.arrive(req.Token, cars)
	hole.Below = cars[:1]
	_, err = y.com.Land(t.Context(), hole)
	wantCode(t, err, "git/damaged")
	y.ship(9, 30, y.editing("other.txt", "other\n"))
	for range 2 {
		_, err = y.com.Land(t.Context(), y.arrive(req.Token, cars))
		wantCode(t, err, "git/fenced")
		_, err = y.com.Stack(t.Context(), req)
		wantCode(t, err, "git/fenced")
	}
	_, err = y.com.Land(t.Context(), y.arrive(40, cars))
	wantCode(t, err, "git/target-moved")
	y.each(0)
}

// A person takes the last change of a train by hand while the train is tested. The
// changes below it have not landed with that, and nobody is told that they have.
func TestBYD08_LOCK05_ACopyOfTheLastCarIsNotTheTrain(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 3)
	req := y.train(10)
	cars := y.stack(req)
	y.user("merge", "-q", "--ff-only", candidateRef(bead(3)))
	landing, err := y.com.Land(t.Context(), y.arrive(req.Token, cars))
	wantCode(t, err, "git/target-moved")
	if landing != nil || y.copies(1, "main") != 0 || y.copies(3, "main") != 1 {
		t.Errorf("landing %v, and %d, %d copies of the first and the last", landing, y.copies(1, "main"), y.copies(3, "main"))
	}
	again := y.train(20)
	row, err := y.com.Stack(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, row[2].Err, "git/no-change")
	if _, err := y.com.Land(t.Context(), y.arrive(again.Token, []*loomv1.Candidate{row[0].Candidate, row[1].Candidate})); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		if got := y.copies(n, "main"); got != 1 {
			t.Errorf("%d copies of car %d", got, n)
		}
	}
}

// A driver that sleeps before it clears away old trains, and wakes while the next
// one stacks its own, takes nothing of it away.
func TestBYD08_P6_ADriverThatSleptDropsNoTrain(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 2)
	late, next := y.train(10), y.train(20)
	var cars []*loomv1.Candidate
	y.com.step = func(step string) {
		if step == "fence raised" {
			y.com.step = func(string) {}
			cars = y.stack(next)
		}
	}
	_, err := y.com.Stack(t.Context(), late)
	wantCode(t, err, "git/fenced")
	if at := y.head(fmt.Sprintf("%s%d", trainRefs(deployment), next.Token)); at != cars[1].Commit {
		t.Errorf("the next one's train is kept at %q, want %s", at, cars[1].Commit)
	}
	if _, err := y.com.Land(t.Context(), y.arrive(next.Token, cars)); err != nil {
		t.Fatal(err)
	}
	y.each(2)
}

// The next holder's look at the target fences the driver: what it has not landed by
// then it lands no more, and what it has landed it takes back no more.
func TestBYD08_P6_WhoLooksForATrainFencesItsDriver(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for step, landed := range map[string]bool{"checkouts held": false, "target moved": true} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, 2)
			y.bare()
			y.changes, y.candidates = nil, nil
			for n := 1; n <= 2; n++ {
				y.changes = append(y.changes, y.propose(n+4, y.editing(fmt.Sprintf("car-%d.txt", n), "cargo\n")))
				y.candidates = append(y.candidates, y.candidate(n+4, uint64(n+4), y.changes[n-1]))
			}
			req := TrainRequest{Deployment: deployment, Target: "main", Token: 11, Cars: []CarRequest{
				{y.request(5, 10, y.changes[0]), y.candidates[0]}, {y.request(6, 11, y.changes[1]), y.candidates[1]},
			}}
			cars := y.stack(req)
			y.com.step = func(s string) {
				if s == step {
					y.com.step = func(string) {}
					l, err := y.com.Arrived(t.Context(), ArrivedRequest{Deployment: deployment, Token: 20, Target: "main", Head: cars[1].Commit})
					if err != nil || (l != nil) != landed {
						t.Errorf("the next holder is told %v, %v; landed %t", l, err, landed)
					}
				}
			}
			arrive := y.landRequest(6, 11, cars[1])
			arrive.Below = cars[:1]
			if _, err := y.com.Land(t.Context(), arrive); !landed {
				wantCode(t, err, "git/fenced")
			} else if err != nil {
				t.Error(err)
			}
			if in := y.head("main") == cars[1].Commit; in != landed {
				t.Errorf("the train is on the target: %t, want %t", in, landed)
			}
			_, err := y.com.Arrived(t.Context(), ArrivedRequest{Deployment: deployment, Token: 19, Target: "main", Head: cars[1].Commit})
			wantCode(t, err, "git/fenced")
		})
	}
}

// A crash at any step of a train leaves every car out or in once, whatever is
// done next: the train anew, or each car by itself.
func TestBYD08_LOCK05_CrashBetweenAnyTwoStepsOfATrain(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, prepare := range map[string]func(*fixture){
		"clean": func(*fixture) {},
		"dirty": func(f *fixture) { f.write("dir/b.txt", "mine\n") },
	} {
		stacking, landing := trainSteps(t, prepare)
		for i, step := range append(slices.Clone(stacking), landing...) {
			if name == "dirty" && i < len(stacking) {
				continue // it has not looked at the checkout yet
			}
			t.Run(fmt.Sprintf("%s/%02d %s", name, i, step), func(t *testing.T) {
				t.Parallel()
				crashTrain(t, prepare, i, len(stacking))
			})
		}
	}
}

// trainSteps records the steps of a whole train.
func trainSteps(t *testing.T, prepare func(*fixture)) (stacking, landing []string) {
	y := newYard(t, 2)
	prepare(y.fixture)
	var seen []string
	y.com.step = func(s string) { seen = append(seen, s) }
	req := y.train(10)
	cars := y.stack(req)
	stacking, seen = seen, nil
	if _, err := y.com.Land(t.Context(), y.arrive(req.Token, cars)); err != nil {
		t.Fatal(err)
	}
	return stacking, seen
}

func crashTrain(t *testing.T, prepare func(*fixture), step, stacking int) {
	y := newYard(t, 2)
	prepare(y.fixture)
	req := y.train(10)
	plan := trainPlan{Train: &req, Step: step}
	head := strings.Repeat("1", 40) // of a train that was never whole
	if step >= stacking {
		cars := y.stack(req)
		head = cars[1].Commit
		arrive := y.arrive(req.Token, cars)
		plan = trainPlan{Arrive: &arrive, Step: step - stacking}
	}
	y.dieIn(plan)
	refs := []string{"main", "loom/landed"}
	counts := func() (most int) {
		for n := range 2 {
			for _, ref := range refs {
				most = max(most, y.copiesIfAny(n+1, ref))
			}
		}
		return most
	}
	if counts() > 1 {
		t.Fatal("a car is there twice right after the crash")
	}
	whole := y.copiesIfAny(2, "main")+y.copiesIfAny(2, "loom/landed") == 1
	token := uint64(30)
	y.whoCommitsNext(token, head, whole)
	for n := range 2 { // each by itself: what has landed is found, the rest is made anew
		token += 2
		again := y.landRequest(n+1, token, y.candidates[n])
		again.Head = head
		landing, err := y.com.Land(t.Context(), again)
		if landed := landing.GetHead() == head; landed != whole {
			t.Errorf("car %d is told %t that the train has landed, and it has %t", n+1, landed, whole)
		}
		if err != nil {
			wantCode(t, err, "git/target-moved")
			y.land(n+1, token+1, y.candidate(n+1, token, y.changes[n]))
			token++
		}
	}
	if counts() != 1 || y.copiesIfAny(1, "main")+y.copiesIfAny(1, "loom/landed") == 0 || y.copiesIfAny(2, "main")+y.copiesIfAny(2, "loom/landed") == 0 {
		t.Error("not every car is there once after the recovery")
	}
	if exists(filepath.Join(y.repo.common, "index.lock")) {
		t.Error("the user's index is still locked")
	}
}

// whoCommitsNext has a holder of the lock that has nothing to do with a train find
// out whether it has landed, twice, before anything else is done.
func (y *yard) whoCommitsNext(token uint64, head string, whole bool) {
	y.t.Helper()
	for range 2 {
		l, err := y.com.Arrived(y.t.Context(), ArrivedRequest{Deployment: deployment, Token: token, Target: "main", Head: head})
		if err != nil || (l != nil) != whole || whole && (l.Head != head || l.Ref != "refs/heads/main" && l.Ref != landedBranch) {
			y.t.Errorf("the next holder is told %v, %v; the train has landed: %t", l, err, whole)
		}
	}
	if refs := y.user("for-each-ref", "refs/loom/candidate"); whole && refs != "" {
		y.t.Errorf("candidates that have landed are left: %s", refs)
	}
}

// trainPlan is what a child process does before it dies at a step, from 0.
type trainPlan struct {
	Top, Data string
	Step      int
	Train     *TrainRequest
	Arrive    *LandRequest
}

// dieIn runs a plan in a child and fails unless it dies where it should.
func (y *yard) dieIn(p trainPlan) {
	y.t.Helper()
	p.Top, p.Data = y.top, y.data
	text, err := json.Marshal(p)
	if err != nil {
		y.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_GIT_TRAIN="+string(text))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != crashed {
		y.t.Fatalf("child: %v\n%s", err, out)
	}
}

// dieOnTrain is the child.
func dieOnTrain(plan string) int {
	var p trainPlan
	if err := json.Unmarshal([]byte(plan), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	repo, err := Open(context.Background(), p.Top)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	com, err := NewCommitter(p.Data, "p", repo)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	com.step = func(string) {
		if p.Step--; p.Step < 0 {
			os.Exit(crashed)
		}
	}
	if p.Train != nil {
		_, err = com.Stack(context.Background(), *p.Train)
	} else {
		_, err = com.Land(context.Background(), *p.Arrive)
	}
	fmt.Println("the step was not reached:", err)
	return 0
}
