package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/tools/benchmark/parse"
)

// What the testing package measures.
const (
	timeUnit   = "ns/op"
	bytesUnit  = "B/op"
	allocsUnit = "allocs/op"
)

// least keeps the least of every unit of every benchmark, in all rounds.
type least map[string]map[string]float64

func (l least) add(name, unit string, value float64) {
	if l[name] == nil {
		l[name] = map[string]float64{}
	}
	if old, ok := l[name][unit]; !ok || value < old {
		l[name][unit] = value
	}
}

// bench runs the suites in so many rounds, each after the probes.
type bench struct {
	dir      string // for test programs and probes
	rounds   int
	only     string // of the names of packages
	took     string // -benchtime
	progress io.Writer
}

func (b *bench) measure(ctx context.Context, of []suite) (run, error) {
	programs, err := b.build(ctx, of)
	if err != nil {
		return run{}, err
	}
	units, probes := least{}, map[string]float64{}
	for round := range b.rounds {
		for i, s := range of {
			if programs[i] == "" {
				continue
			}
			fmt.Fprintf(b.progress, "round %d of %d: %s\n", round+1, b.rounds, s.Package)
			if err := b.round(ctx, s, programs[i], units, probes); err != nil {
				return run{}, err
			}
		}
	}
	return inUnits(of, units, probes), nil
}

func (b *bench) round(ctx context.Context, s suite, program string, units least, probes map[string]float64) error {
	now, err := probe(b.dir)
	if err != nil {
		return err
	}
	for name, took := range now {
		if old, ok := probes[name]; !ok || took < old {
			probes[name] = took
		}
	}
	out, err := b.start(ctx, s, program)
	if err != nil {
		return err
	}
	return collect(s.Package, out, units)
}

// wanted tells whether a name, "package" or "package.Benchmark", is of a package
// that is asked for.
func wanted(only, name string) bool {
	pkg, _, _ := strings.Cut(name, ".")
	return strings.Contains(pkg, only)
}

// build makes the test program of each package; "" for those not wanted.
func (b *bench) build(ctx context.Context, of []suite) ([]string, error) {
	programs := make([]string, len(of))
	for i, s := range of {
		if !wanted(b.only, path.Base(s.Package)) {
			continue
		}
		programs[i] = filepath.Join(b.dir, strconv.Itoa(i)+".test")
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", programs[i], s.Package)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", s.Package, err, out)
		}
	}
	return programs, nil
}

func (b *bench) start(ctx context.Context, s suite, program string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+s.Pattern, "-test.benchmem", "-test.benchtime="+b.took)
	cmd.Dir = s.Package // as "go test" does
	cmd.Env = append(os.Environ(), "TMPDIR="+b.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", s.Package, err, out)
	}
	return out, nil
}

func collect(pkg string, out []byte, into least) error {
	set, err := parse.ParseSet(bytes.NewReader(out))
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	for _, runs := range set {
		for _, r := range runs {
			name := path.Base(pkg) + "." + plain(r.Name)
			into.add(name, timeUnit, r.NsPerOp)
			into.add(name, bytesUnit, float64(r.AllocedBytesPerOp))
			into.add(name, allocsUnit, float64(r.AllocsPerOp))
		}
	}
	return nil
}

// plain is a benchmark's name without the number of processors.
func plain(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "Benchmark"), "-"+strconv.Itoa(runtime.GOMAXPROCS(0)))
}

// inUnits has times in units of the probe of each benchmark's package.
func inUnits(of []suite, units least, probes map[string]float64) run {
	like := map[string]string{}
	for _, s := range of {
		like[path.Base(s.Package)] = s.Probe
	}
	r := run{Machine: fmt.Sprintf("%s/%s, %d processors, probes %v", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), probes), Figures: map[string]figure{}}
	for name, u := range units {
		pkg, _, _ := strings.Cut(name, ".")
		r.Figures[name] = figure{Probe: like[pkg], Time: u[timeUnit] / probes[like[pkg]], Bytes: u[bytesUnit], Allocs: u[allocsUnit]}
	}
	return r
}
