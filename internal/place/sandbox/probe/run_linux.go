//go:build amd64 || arm64

package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
)

// argument makes a binary the one that tries; the next says from which probe
// on, as JSON of an errand.
const argument = "__sandbox-probe"

// errand is what the one that tries is told.
type errand struct {
	Bait bait
	From int  // the first probe to try
	Only bool // no other
}

func init() {
	if len(os.Args) == 3 && os.Args[1] == argument {
		runtime.LockOSThread()
		os.Exit(serve(os.Args[2]))
	}
}

// answer is one line of the one that tries.
type answer struct {
	Probe int
	Why   string // why it was refused; "" for a success
}

// serve tries the probes and writes an answer a line.
func serve(text string) int {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return 2
	}
	out := json.NewEncoder(os.Stdout)
	for i, p := range All() {
		if i < e.From || e.Only && i > e.From {
			continue
		}
		a := answer{Probe: i}
		if err := p.try(&e.Bait); err != nil {
			a.Why = err.Error()
		}
		if out.Encode(a) != nil {
			return 1
		}
	}
	return 0
}

// All returns the probes.
func All() []Probe { return slices.Concat(files(), secrets(), network(), kernel()) }

func run(ctx context.Context) ([]Result, error) {
	t, err := lay()
	if err != nil {
		return nil, err
	}
	defer t.clear()
	all := All()
	results := make([]Result, 0, len(all)+1)
	for len(results) < len(all) {
		said, end := t.inside(ctx, errand{Bait: t.bait, From: len(results)})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, a := range said {
			results = append(results, result(all[a.Probe], a))
		}
		if len(said) == 0 && len(results) == 0 {
			return nil, fault.New("sandbox/unavailable", "the probes cannot be started: %s", end)
		}
		if len(results) < len(all) { // this one ended it
			p := all[len(results)]
			results = append(results, Result{p.Name, p.Promise, true, "the command was ended: " + end})
		}
	}
	return append(results, t.look()), nil
}

func result(p Probe, a answer) Result {
	r := Result{Name: p.Name, Promise: p.Promise, Refused: a.Why != "", Why: a.Why}
	if !r.Refused {
		r.Why = "it got through"
	}
	return r
}

// inside has probes tried in a sandbox, and returns the answers and how it
// ended.
func (t *trap) inside(ctx context.Context, e errand) ([]answer, string) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return nil, err.Error()
	}
	told, err := json.Marshal(e)
	if err != nil {
		return nil, err.Error()
	}
	cmd, err := sandbox.Command(ctx, sandbox.Spec{
		Dir: t.bait.Workspace, Write: []string{t.bait.Workspace}, Read: []string{t.bait.Readable, exe}, Env: []string{environment},
	}, exe, argument, string(told))
	if err != nil {
		return nil, err.Error()
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	return answers(out), fmt.Sprintf("%v %.200s", err, complaint.String())
}

func answers(out []byte) []answer {
	var list []answer
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var a answer
		if d.Decode(&a) != nil {
			return list
		}
		list = append(list, a)
	}
}
