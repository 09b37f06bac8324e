package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
)

type options struct {
	bench
	limits
	file         string
	update, json bool
}

// errRegressed ends a run that found something worse.
var errRegressed = errors.New("something has become worse")

func flags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("baseline", flag.ContinueOnError)
	f.StringVar(&o.file, "file", "bench/baseline/baseline.json", "what is compared with")
	f.BoolVar(&o.update, "update", false, "store what is measured now")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.IntVar(&o.rounds, "rounds", 5, "how often each is run; the least counts")
	f.StringVar(&o.took, "benchtime", "200ms", "how long each runs in a round")
	f.StringVar(&o.only, "only", "", "packages whose name contains this; stores nothing")
	f.Float64Var(&o.time, "time", 1.3, "worse from this multiple of the stored time on")
	f.Float64Var(&o.memory, "memory", 1.1, "worse from this multiple of the stored bytes and allocations on")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.rounds < 1 || o.time <= 0 || o.memory <= 0 {
		return o, fmt.Errorf("-rounds, -time and -memory must be above 0")
	}
	if o.update && o.only != "" {
		return o, fmt.Errorf("-update stores all: leave -only away")
	}
	o.progress = os.Stderr
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := do(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func do(ctx context.Context, args []string, to io.Writer) error {
	o, err := flags(args)
	if err != nil {
		return err
	}
	was, err := load(o)
	if err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp("", "loom-baseline-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.dir) }()
	is, err := o.measure(ctx, suites)
	if err != nil {
		return err
	}
	if o.update {
		return store(o.file, is)
	}
	return tell(o, compare(was, is, o.limits), to)
}

// load reads the stored run, of the packages that are wanted.
func load(o options) (run, error) {
	var r run
	data, err := os.ReadFile(o.file)
	if o.update && errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("%w; run this in the project's root, or with -update first", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", o.file, err)
	}
	for name := range r.Figures {
		if !wanted(o.only, name) {
			delete(r.Figures, name)
		}
	}
	return r, nil
}

func store(file string, r run) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

func tell(o options, all []verdict, to io.Writer) error {
	err := error(nil)
	for _, v := range all {
		if v.Regressed {
			err = errRegressed
		}
	}
	if o.json {
		return errors.Join(json.NewEncoder(to).Encode(all), err)
	}
	return errors.Join(table(all, to), err)
}

func table(all []verdict, to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "benchmark\tin units of\tnow\ttime\tbytes\tallocations\t")
	for _, v := range all {
		switch {
		case v.Is == nil:
			_, _ = fmt.Fprintf(w, "%s\t%s\t\t\t\t\tgone\n", v.Name, v.Was.Probe)
		case v.Was == nil:
			_, _ = fmt.Fprintf(w, "%s\t%s\t%.4g\t\t\t\tnew\n", v.Name, v.Is.Probe, v.Is.Time)
		default:
			_, _ = fmt.Fprintf(w, "%s\t%s\t%.4g\t%.2f\t%.2f\t%.2f\t%s\n", v.Name, v.Is.Probe, v.Is.Time, v.Time, v.Bytes, v.Allocs, word(v))
		}
	}
	return w.Flush()
}

func word(v verdict) string {
	if v.Regressed {
		return "WORSE"
	}
	return ""
}
