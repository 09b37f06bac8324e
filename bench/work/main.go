package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/loomrun/loom/internal/base/softmemory"
)

// options are the flags that every peer's worker takes, and where to live.
type options struct {
	data         string
	inFlight, n  int
	warm         int
	agents       int
	ledger       string
	resume, hold bool
	prefix       string
	profile      string
	heap         string
	record       string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("work", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "directory of the host's data, made if absent")
	f.IntVar(&o.inFlight, "c", 1, "executions in flight")
	f.IntVar(&o.n, "n", 100, "executions to run")
	f.IntVar(&o.warm, "warm", 20, "executions run before the clock starts")
	f.IntVar(&o.agents, "agents", 16, "agents of each role")
	f.StringVar(&o.ledger, "ledger", "", "append one line per agent step run")
	f.BoolVar(&o.resume, "resume", false, "start nothing: finish what is in flight")
	f.BoolVar(&o.hold, "hold", false, "start all, withhold approvals until all are started")
	f.StringVar(&o.prefix, "prefix", "b", "prefix of the executions' names")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of the measured part, or with -resume of the start, to this file")
	f.StringVar(&o.heap, "heap", "", "write a profile of the memory in use at the end to this file")
	f.StringVar(&o.record, "record", "", "record the measured part, stage by stage, into this directory (tools/stages reads it)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.data == "" {
		return o, fmt.Errorf("-data is required")
	}
	return o, nil
}

func main() {
	if err := measure(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "work:", err)
		os.Exit(1)
	}
}

func measure(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, o)
}

func run(ctx context.Context, o options) error {
	softmemory.Keep() // as "loom up" does
	if o.record != "" {
		runtime.MemProfileRate = 1 // each allocation
	}
	clock := newClock()
	h, err := startHost(ctx, o, clock)
	if err != nil {
		return err
	}
	defer stopHost(h)
	p, err := newPeer(ctx, h, o, clock)
	if err != nil {
		return err
	}
	defer p.close()
	return drive(ctx, o, h, p, clock)
}
