package git

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What somebody else says of a train is true as far as the repository shows it.
func TestBYD08_SEC01_ATrainIsAttested(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	y := newYard(t, 3)
	req := y.train(10)
	cars := y.stack(req)
	head := cars[2].Commit
	execution := func(n int) string { return req.Cars[n].Execution }
	attest := func(execution string, c *loomv1.Candidate, head string) bool {
		t.Helper()
		is, err := y.repo.Attest(t.Context(), execution, c, head)
		if err != nil {
			t.Error(err)
		}
		return is
	}
	for n, c := range cars {
		if !attest(execution(n), c, head) {
			t.Errorf("car %d is not attested", n+1)
		}
	}
	nowhere := strings.Repeat("1", len(head))
	for what, change := range map[string]func(c *loomv1.Candidate){
		"another commit":      func(c *loomv1.Candidate) { c.Commit = cars[0].Commit },
		"a commit not there":  func(c *loomv1.Candidate) { c.Commit = nowhere },
		"a name":              func(c *loomv1.Candidate) { c.Commit = "main" },
		"an option":           func(c *loomv1.Candidate) { c.Commit = "--all" },
		"a part of its name":  func(c *loomv1.Candidate) { c.Commit = c.Commit[:12] },
		"another patch":       func(c *loomv1.Candidate) { c.PatchDigest = cars[0].PatchDigest },
		"no patch":            func(c *loomv1.Candidate) { c.PatchDigest = "" },
		"another base":        func(c *loomv1.Candidate) { c.Base = cars[0].Base },
		"what is not Loom's":  func(c *loomv1.Candidate) { c.Commit = cars[0].Base },
		"none of these words": func(c *loomv1.Candidate) { proto.Reset(c) },
	} {
		c := proto.CloneOf(cars[1])
		if change(c); attest(execution(1), c, head) {
			t.Errorf("attested: %s", what)
		}
	}
	for what, is := range map[string]bool{
		"another's commit":    attest(execution(0), cars[1], head),
		"an end before it":    attest(execution(2), cars[2], cars[1].Commit),
		"an end not there":    attest(execution(1), cars[1], nowhere),
		"no end":              attest(execution(1), cars[1], ""),
		"of no execution":     attest("", cars[1], head),
		"a candidate of none": attest("", nil, head),
	} {
		if is {
			t.Errorf("attested: %s", what)
		}
	}
	reached := func(commit string) bool {
		t.Helper()
		is, err := y.repo.Reached(t.Context(), "main", commit)
		if err != nil {
			t.Error(err)
		}
		return is
	}
	if reached(head) || reached(nowhere) || reached("main") || reached("") || !reached(cars[0].Base) {
		t.Error("the target is said to have what it has not, or not to have what it has")
	}
	if _, err := y.com.Land(t.Context(), y.arrive(req.Token, cars)); err != nil {
		t.Fatal(err)
	}
	for n, c := range cars {
		if !reached(c.Commit) {
			t.Errorf("car %d has landed and is not seen", n+1)
		}
	}
}
