package train_test

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/train"
)

func car(id string, files ...string) train.Car { return train.Car{ID: id, Files: files} }

func ids(cars []train.Car) string {
	var list []string
	for _, c := range cars {
		list = append(list, c.ID)
	}
	return strings.Join(list, " ")
}

func TestBYD08_WhoRidesTogether(t *testing.T) {
	for _, tt := range []struct {
		name string
		cars []train.Car
		most int
		want string
	}{
		{"nobody", nil, 8, ""},
		{"one", []train.Car{car("a", "x")}, 8, "a"},
		{"other files", []train.Car{car("a", "x"), car("b", "y", "z")}, 8, "a b"},
		{"the same file", []train.Car{car("a", "x"), car("b", "y", "x"), car("c", "z")}, 8, "a c"},
		{"nobody is overtaken at a file", []train.Car{car("a", "x"), car("b", "x", "y"), car("c", "y")}, 8, "a"},
		{"a file where a directory is", []train.Car{car("a", "d/e/f"), car("b", "d"), car("c", "d/e")}, 8, "a"},
		{"a directory where a file is", []train.Car{car("a", "d"), car("b", "d/e/f"), car("c", "de")}, 8, "a c"},
		{"neighbours in one directory", []train.Car{car("a", "d/e"), car("b", "d/f")}, 8, "a b"},
		{"no more than there is room for", []train.Car{car("a", "x"), car("b", "y"), car("c", "z")}, 2, "a b"},
		{"room for one", []train.Car{car("a", "x"), car("b", "y")}, 1, "a"},
		{"no room", []train.Car{car("a", "x"), car("b", "y")}, 0, "a"},
	} {
		if got := ids(train.Compose(tt.cars, tt.most)); got != tt.want {
			t.Errorf("BYD08 %s: %q ride, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever waits: the first rides, the order stays, no two touch the same, and
// nobody rides who has to wait for somebody before it.
func TestBYD08_NobodyIsOvertakenAtAFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := rapid.SampledFrom([]string{"a", "b", "a/b", "a/c", "b/a/c", "b/a", "c", "d"})
		var cars []train.Car
		for i := range rapid.IntRange(0, 12).Draw(rt, "cars") {
			cars = append(cars, car(fmt.Sprint(i), rapid.SliceOfN(path, 0, 3).Draw(rt, "files")...))
		}
		most := rapid.IntRange(0, 6).Draw(rt, "most")
		row := train.Compose(cars, most)
		if len(row) > max(most, 1) || len(cars) > 0 && (len(row) == 0 || row[0].ID != "0") {
			rt.Fatalf("%q ride, with room for %d", ids(row), most)
		}
		rides, last := map[string]bool{}, -1
		for _, c := range row {
			rides[c.ID] = true
			place := slices.IndexFunc(cars, func(o train.Car) bool { return o.ID == c.ID })
			if place <= last {
				rt.Fatalf("out of order: %q", ids(row))
			}
			last = place
		}
		for i, c := range cars {
			clashes := slices.ContainsFunc(cars[:i], func(o train.Car) bool { return clash(o.Files, c.Files) })
			if rides[c.ID] && clashes {
				rt.Fatalf("%q rides and has to wait for its files: %v", c.ID, cars[:i+1])
			}
			if !rides[c.ID] && !clashes && len(row) < most {
				rt.Fatalf("%q could ride: %v", c.ID, cars[:i+1])
			}
		}
	})
}

// clash compares every path with every other, without a thought for speed.
func clash(a, b []string) bool {
	for _, p := range a {
		for _, q := range b {
			if p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/") {
				return true
			}
		}
	}
	return false
}

// Whichever changes are bad: what may land is good, and was tested as it lands or
// needed no test; the culprit is the first that is bad; and it takes few tests.
func TestBYD08_TheCulpritIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cars := rapid.IntRange(0, 40).Draw(rt, "cars")
		known := rapid.IntRange(0, 1).Draw(rt, "known")
		bad := rapid.SliceOfN(rapid.IntRange(min(known, cars), max(cars, 1)), 0, 3).Draw(rt, "bad")
		first := cars
		for _, b := range bad {
			first = min(first, b)
		}
		s := train.NewSearch(cars, known)
		tests, shown := 0, min(known, cars)
		for {
			n, more := s.Next()
			if !more {
				break
			}
			if n < 1 || n > cars {
				rt.Fatalf("%d of %d cars are to be tested", n, cars)
			}
			tests++
			if n <= first {
				shown = max(shown, n)
			}
			s = s.Seen(n, n <= first)
		}
		place, found := s.Culprit()
		if s.Good() != first || s.Good() != shown || found != (first < cars) || found && place != first {
			rt.Fatalf("%d land and %d, %t is the culprit; %d are good, of which %d were shown to be", s.Good(), place, found, first, shown)
		}
		if most := 2 + bits.Len(uint(cars)); tests > most {
			rt.Fatalf("%d tests of %d cars, want at most %d", tests, cars, most)
		}
	})
}

// Tests that do not always say the same end the search all the same, and nothing
// lands that has not passed.
func TestBYD08_TestsThatLieEndTheSearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cars := rapid.IntRange(0, 40).Draw(rt, "cars")
		s := train.NewSearch(cars, 0)
		passed := map[int]bool{0: true}
		for range 2 * cars {
			n, more := s.Next()
			if !more {
				break
			}
			passed[n] = rapid.Bool().Draw(rt, "passed")
			s = s.Seen(n, passed[n])
			if next, _ := s.Next(); next != n && s.Seen(n, true) != s {
				rt.Fatalf("a test of %d cars counts, which was not asked for: %+v", n, s)
			}
		}
		if _, more := s.Next(); more || !passed[s.Good()] {
			rt.Fatalf("more: %t; %d land, which passed: %v", more, s.Good(), passed)
		}
	})
}
