package agent_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sound passes on what no bad change is in.
const sound = "! ls bad-*"

// yard is a bench with verified candidates, each of a file of its own, that wait
// to land; who drives has the first.
type yard struct {
	*bench
	cars []*loomv1.TrainCar
}

// grant is the token of the driver; the cars behind it have the next.
const grant = 100

func newYard(t testing.TB, cars int, bad ...int) *yard {
	t.Helper()
	y := &yard{bench: newBench(t, script(finish("success")))}
	for n := 1; n <= cars; n++ {
		bead := fmt.Sprintf("shop-%d", n)
		tree, err := y.repo.Workspaces.Open(t.Context(), bead+"-x1", bead)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("good-%d", n)
		if slices.Contains(bad, n) {
			name = fmt.Sprintf("bad-%d", n)
		}
		if err := os.WriteFile(filepath.Join(tree.Path(), name), []byte("cargo\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		change, _, err := tree.Change(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := &loomv1.TrainCar{
			Attempt: bead + "-x1-a1", Bead: bead, Execution: bead + "-x1", Token: grant + uint64(n) - 1,
			Change: change, Checks: []string{sound}, Role: "backend-engineer", Goal: "mend " + name,
		}
		if c.Candidate, err = y.candidate(c, uint64(n)); err != nil {
			t.Fatal(err)
		}
		y.cars = append(y.cars, c)
	}
	y.seat = &seat{token: grant, train: &loomv1.Train{Fence: grant + uint64(cars) - 1, Cars: y.cars}}
	return y
}

// candidate makes the commit of a car on the newest target.
func (y *yard) candidate(c *loomv1.TrainCar, token uint64) (*loomv1.Candidate, error) {
	made, _, err := y.repo.Committer.Candidate(y.t.Context(), git.CandidateRequest{
		Deployment: "dp-1", Bead: c.Bead, Execution: c.Execution, Token: token, Target: "main", Change: c.Change,
		Author: git.Author{Name: "Loom", Email: "loom@example.com"}, Subject: c.Goal,
	})
	return made, err
}

// landing is the brief of the attempt to land a car.
func (y *yard) landing(n int, most uint32) *loomv1.Brief {
	c := y.cars[n-1]
	b := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_LAND)
	b.Attempt.Id, b.Bead.Id, b.Execution.Id = c.Attempt, c.Bead, c.Execution
	b.Execution.Change, b.Execution.Candidate, b.Execution.Checks = c.Change, c.Candidate, c.Checks
	b.Project.Train = most
	return b
}

// landed lists what is on the target.
func (y *yard) landed() string {
	y.t.Helper()
	cmd := exec.CommandContext(y.t.Context(), "git", "-C", y.top, "log", "--reverse", "--format=%(trailers:key=Loom-Bead,valueonly,separator=)", "main")
	out, err := cmd.Output()
	if err != nil {
		y.t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "shop-", "")), " ")
}

// recorded lists what the journal was told: the cars that may land, and, with a
// mark, the one that may not.
func (y *yard) recorded() string {
	var list []string
	for _, attempt := range slices.Sorted(maps.Keys(y.seat.cars)) {
		mark := ""
		if c := y.seat.cars[attempt]; c.Refused != "" {
			mark = "!"
		} else if len(c.Checks) != 1 || !c.Checks[0].Passed || c.Checks[0].Commit != c.Head {
			y.t.Errorf("%s rides with checks %v on %s", attempt, c.Checks, c.Head)
		}
		list = append(list, mark+strings.TrimSuffix(strings.TrimPrefix(attempt, "shop-"), "-x1-a1"))
	}
	return strings.Join(list, " ")
}

func TestBYD08_TheLockHolderLandsWhatPassesTogether(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name     string
		cars     int
		bad      []int
		moved    bool // the target, since they were verified
		refuses  error
		code     string // of the driver's outcome
		recorded string
		landed   string
	}{
		{"all are sound", 4, nil, false, nil, "", "1 2 3 4", "1 2 3 4"},
		{"one in the middle is bad", 5, []int{3}, false, nil, "", "1 2 !3", "1 2"},
		{"two are bad", 6, []int{2, 5}, false, nil, "", "!2", "1"},
		{"the last is bad", 3, []int{3}, false, nil, "", "1 2 !3", "1 2"},
		{"the target has moved", 3, nil, true, nil, "", "1 2 3", "1 2 3"},
		{"the driver is bad on the moved target", 3, []int{1}, true, nil, "train/refused", "!1", ""},
		{"one alone", 1, nil, false, nil, "", "", "1"},
		{"one alone on a moved target", 1, nil, true, nil, "", "1", "1"},
		{"the cars have changed", 3, nil, false, fault.New("train/changed", "somebody left"), "", "1 2 3", "1"},
	} {
		t.Run("BYD08 "+tt.name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, tt.cars, tt.bad...)
			y.seat.refuses = tt.refuses
			if tt.moved {
				y.commit("elsewhere.txt")
			}
			out := y.must(y.landing(1, 8))
			if out.Code != tt.code || (out.Status == success) != (tt.code == "") {
				t.Errorf("the driver's outcome is %v, want code %q", out, tt.code)
			}
			if got := y.recorded(); got != tt.recorded {
				t.Errorf("recorded %q, want %q", got, tt.recorded)
			}
			if got := y.landed(); got != tt.landed {
				t.Errorf("landed %q, want %q", got, tt.landed)
			}
			if car := y.seat.cars["shop-1-x1-a1"]; out.Status == success && car != nil && tt.refuses == nil && out.Landing.GetCommit() != car.Candidate.GetCommit() {
				t.Errorf("the driver landed %s, and %s was recorded", out.Landing.GetCommit(), car.Candidate.GetCommit())
			}
		})
	}
}

// A driver dies between git and the journal, and who is granted the lock next, to make
// a candidate of something else, finds the train and says so before anything else.
func TestBYD08_WhoCommitsNextSettlesTheTrain(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, 4)
	other := y.cars[3]
	y.seat.train.Cars = y.cars[:3]
	y.must(y.landing(1, 8)) // and nobody hears of it
	head := y.seat.cars["shop-1-x1-a1"].Head
	y.seat = &seat{token: 300, open: []string{head, strings.Repeat("1", 40)}}
	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	commit.Bead.Id, commit.Execution.Id, commit.Execution.Change = other.Bead, other.Execution, other.Change
	commit.Execution.Approved = &loomv1.ApprovedChange{PatchDigest: other.Change.PatchDigest}
	out := y.must(commit)
	if l := y.seat.arrived; len(l) != 1 || l[0].Head != head || l[0].Ref != "refs/heads/main" || l[0].Token != 300 {
		t.Errorf("the journal is told of %v, want the train of %s", l, head)
	}
	if out.Status != success || out.Candidate.GetBase() != head {
		t.Errorf("its own candidate is %v, want one on %s", out, head)
	}
	y.seat = &seat{token: 200, open: []string{head}}
	if late := y.must(commit); late.Code != "git/fenced" || len(y.seat.arrived) != 0 {
		t.Errorf("who was overtaken says %v and %v", late, y.seat.arrived)
	}
}

// Commits whose attempts have ended may be on the target, alone or with a train, or
// not: who is granted the lock next says of each what has become of it.
func TestLOCK05_WhoIsGrantedNextFindsWhatHasLanded(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, 5)
	doubt := func(n int) *loomv1.OpenLanding {
		return &loomv1.OpenLanding{Execution: y.cars[n-1].Execution, Commit: y.cars[n-1].Candidate.Commit}
	}
	y.seat.train.Cars = y.cars[:2]
	y.must(y.landing(1, 8)) // and nobody hears of it
	rider := doubt(2)
	rider.Car, rider.Head = y.seat.cars["shop-2-x1-a1"].Candidate.Commit, y.seat.cars["shop-2-x1-a1"].Head
	var err error
	if y.cars[2].Candidate, err = y.candidate(y.cars[2], 200); err != nil {
		t.Fatal(err)
	}
	y.seat = &seat{token: 200}
	y.must(y.landing(3, 0)) // and nobody hears of it
	gone := doubt(4)
	gone.Commit = strings.Repeat("1", 40)
	alone := doubt(4)
	alone.Head = strings.Repeat("2", 40)

	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	other := y.cars[4]
	commit.Bead.Id, commit.Execution.Id, commit.Execution.Change = other.Bead, other.Execution, other.Change
	commit.Execution.Approved = &loomv1.ApprovedChange{PatchDigest: other.Change.PatchDigest}
	y.seat = &seat{token: 300, doubted: []*loomv1.OpenLanding{rider, doubt(3), alone, gone}}
	if out := y.must(commit); out.Status != success {
		t.Errorf("its own candidate is %v", out)
	}
	var got []string
	for _, c := range y.seat.landings {
		if c.Token != 300 {
			t.Errorf("it is said under token %d", c.Token)
		}
		got = append(got, fmt.Sprintf("%s of %.6s: %.6s on %s with %.6s", c.Execution, c.Commit, c.Landing.GetCommit(), c.Landing.GetRef(), c.Landing.GetHead()))
	}
	want := []string{
		fmt.Sprintf("shop-2-x1 of %.6s: %.6s on refs/heads/main with %.6s", rider.Commit, rider.Car, rider.Head),
		fmt.Sprintf("shop-3-x1 of %.6s: %.6s on refs/heads/main with ", y.cars[2].Candidate.Commit, y.cars[2].Candidate.Commit),
		fmt.Sprintf("shop-4-x1 of %.6s:  on  with ", alone.Commit),
		fmt.Sprintf("shop-4-x1 of %.6s:  on  with ", gone.Commit),
	}
	if !slices.Equal(got, want) {
		t.Errorf("the journal is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	y.seat = &seat{token: 250, doubted: []*loomv1.OpenLanding{doubt(3)}}
	if late := y.must(commit); late.Code != "git/fenced" || len(y.seat.landings) != 0 {
		t.Errorf("who was overtaken says %v and %v", late, y.seat.landings)
	}
}

// commit is somebody else's work on the target.
func (b *bench) commit(path string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(b.top, path)), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.top, path), []byte("other\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=User", "-c", "user.email=user@example.com", "commit", "-q", "-m", "other"}} {
		if out, err := exec.CommandContext(b.t.Context(), "git", append([]string{"-C", b.top}, args...)...).CombinedOutput(); err != nil {
			b.t.Fatalf("%v\n%s", err, out)
		}
	}
}

// What has landed on a train is found by each car's own attempt, and the one that
// made it fail is told, without a look at the repository.
func TestBYD08_TheOthersLearnOfItInTheirTurn(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, 4, 3)
	driver := y.must(y.landing(1, 8))
	cars := y.seat.cars
	if head := cars["shop-2-x1-a1"].Head; driver.Landing.GetHead() != head {
		t.Errorf("the driver landed %v, want all up to %s", driver.Landing, head)
	}
	y.seat = &seat{token: 200}
	rider := y.landing(2, 8)
	rider.Execution.Car = cars["shop-2-x1-a1"]
	if out := y.must(rider); out.Status != success || out.Landing.GetCommit() != rider.Execution.Car.Candidate.Commit || out.Landing.GetHead() != rider.Execution.Car.Head {
		t.Errorf("who rode along is told %v", out)
	}
	culprit := y.landing(3, 8)
	culprit.Execution.Car = cars["shop-3-x1-a1"]
	if out := y.must(culprit); out.Code != "train/refused" || !strings.Contains(out.Notes, sound) {
		t.Errorf("the culprit is told %v", out)
	}
	y.seat = &seat{token: 300, train: &loomv1.Train{Fence: 300, Cars: y.cars[3:]}}
	y.cars[3].Token = 300
	if out := y.must(y.landing(4, 8)); out.Status != success || y.landed() != "1 2 4" {
		t.Errorf("who was left is told %v, and landed: %q", out, y.landed())
	}
}

// TestREAL04_ATrainHasWhatItsCarsName tests a train whose cars name directories: its
// checks see what any of them names and what they touch, and all of the repository
// where one names nothing.
func TestREAL04_ATrainHasWhatItsCarsName(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		sets  [2][]string
		check string
	}{
		"each its own":         {[2][]string{{"one"}, {"two"}}, "test -e one/x && test -e two/x && ! test -e three"},
		"one has all of it":    {[2][]string{{"one"}, nil}, "test -e one/x && test -e two/x && test -e three/x"},
		"what neither can see": {[2][]string{{"one"}, {"one"}}, "test -e one/x && ! test -e two && ! test -e three"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, 2)
			for _, dir := range []string{"one", "two", "three"} {
				y.commit(dir + "/x")
			}
			for i, set := range tt.sets {
				y.cars[i].Checks = []string{tt.check}
				if set != nil {
					y.cars[i].Checkout = &loomv1.Checkout{Sparse: set}
				}
			}
			y.must(y.landing(1, 10))
			if got := y.landed(); got != "1 2" {
				t.Errorf("landed %q, recorded %q", got, y.recorded())
			}
		})
	}
}

// TestREAL09_ATrainsMessagesHaveNoKey has commits made anew for a train, of which one
// is of a change whose maker quoted a key.
func TestREAL09_ATrainsMessagesHaveNoKey(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, 2)
	key := token("gh"+"p_", 36)
	y.cars[1].Summary, y.cars[1].Notes, y.cars[1].Goal = "take "+key+" out", "It was "+key+".", "the log shows "+key
	if out := y.must(y.landing(1, 8)); out.Status != success {
		t.Fatalf("the outcome is %v", out)
	}
	messages, err := exec.CommandContext(t.Context(), "git", "-C", y.top, "log", "--format=%B", "main").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(messages), key) || strings.Count(string(messages), "[a key: github-pat]") != 3 {
		t.Errorf("the commits say\n%s", messages)
	}
}
