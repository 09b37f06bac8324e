package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var usual = limits{time: 1.3, memory: 1.1}

func TestCompare(t *testing.T) {
	was := run{Figures: map[string]figure{
		"graph.Same":   {Probe: "cpu", Time: 10, Bytes: 100, Allocs: 5},
		"graph.Slower": {Probe: "cpu", Time: 10, Bytes: 100, Allocs: 5},
		"graph.Bytes":  {Probe: "cpu", Time: 10, Bytes: 1000, Allocs: 5},
		"graph.Allocs": {Probe: "cpu", Time: 10, Bytes: 100, Allocs: 0},
		"graph.Little": {Probe: "cpu", Time: 10, Bytes: 8, Allocs: 1},
		"graph.Gone":   {Probe: "cpu", Time: 10},
		"graph.Probe":  {Probe: "cpu", Time: 10},
	}}
	is := run{Figures: map[string]figure{
		"graph.Same":   {Probe: "cpu", Time: 12.9, Bytes: 100, Allocs: 5},
		"graph.Slower": {Probe: "cpu", Time: 13.1, Bytes: 100, Allocs: 5},
		"graph.Bytes":  {Probe: "cpu", Time: 10, Bytes: 1200, Allocs: 5},
		"graph.Allocs": {Probe: "cpu", Time: 10, Bytes: 100, Allocs: 2},
		"graph.Little": {Probe: "cpu", Time: 10, Bytes: 16, Allocs: 2},
		"graph.Probe":  {Probe: "sync", Time: 100},
		"graph.New":    {Probe: "cpu", Time: 1},
	}}
	worse, missing := "", 0
	for _, v := range compare(was, is, usual) {
		if v.Regressed {
			worse += v.Name + " "
		}
		if v.Was == nil || v.Is == nil {
			missing++
		}
	}
	if worse != "graph.Allocs graph.Bytes graph.Slower " && worse != "graph.Slower graph.Allocs graph.Bytes " {
		t.Errorf("worse are %q", worse)
	}
	if missing != 3 {
		t.Errorf("%d are new, gone, or measured otherwise; want 3", missing)
	}
}

// What the testing package prints becomes figures in units of the probe, of
// the least of all rounds.
func TestInUnits(t *testing.T) {
	units := least{}
	for _, took := range []string{"300.0", "200.0", "250.0"} {
		out := "goos: linux\npkg: x\nBenchmarkAdd100k/deep \t1000\t" + took + " ns/op\t16 B/op\t2 allocs/op\nPASS\n"
		if err := collect("./graph", []byte(out), units); err != nil {
			t.Fatal(err)
		}
	}
	r := inUnits([]suite{{"./graph", ".", processor}}, units, map[string]float64{processor: 100})
	f := r.Figures["graph.Add100k/deep"]
	if f.Probe != processor || f.Time < 1.999 || f.Time > 2.001 || f.Bytes != 16 || f.Allocs != 2 {
		t.Errorf("%+v", r.Figures)
	}
}

func TestTable(t *testing.T) {
	was := run{Figures: map[string]figure{"a.X": {Probe: "cpu", Time: 1}, "a.Gone": {Probe: "cpu", Time: 1}}}
	is := run{Figures: map[string]figure{"a.X": {Probe: "cpu", Time: 2}, "a.New": {Probe: "cpu", Time: 1}}}
	var out strings.Builder
	if err := tell(options{}, compare(was, is, usual), &out); err == nil {
		t.Error("what became worse is no error")
	}
	for _, want := range []string{"a.X", "2.00", "WORSE", "gone", "new"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestStoredAndWrongInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.json")
	if _, err := load(options{file: file}); err == nil || !strings.Contains(err.Error(), "-update") {
		t.Errorf("a missing file: %v", err)
	}
	if err := store(file, run{Figures: map[string]figure{"graph.A": {Time: 1}, "notice.B": {Time: 2}}}); err != nil {
		t.Fatal(err)
	}
	r, err := load(options{file: file, bench: bench{only: "graph"}})
	if err != nil || len(r.Figures) != 1 {
		t.Errorf("%v, %v", r, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(options{file: file}); err == nil {
		t.Error("a damaged file is taken")
	}
	for _, args := range [][]string{{"-rounds", "0"}, {"-time", "0"}, {"-update", "-only", "graph"}, {"-x"}} {
		if _, err := flags(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// The stored figures and the suites name the same packages.
func TestTheStoredFiguresAreOfTheSuites(t *testing.T) {
	r, err := load(options{file: "baseline.json"})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for name, f := range r.Figures {
		pkg, _, _ := strings.Cut(name, ".")
		have[pkg] = true
		if f.Time <= 0 {
			t.Errorf("%s: no time", name)
		}
	}
	for _, s := range suites {
		if !have[filepath.Base(s.Package)] {
			t.Errorf("nothing is stored of %s", s.Package)
		}
	}
}
