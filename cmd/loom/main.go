//go:build !windows

// Command loom runs a host of Loom, and talks to one. Its verbs are in internal/cli.
//
// It holds no state of its own: a host's data directory says where the host
// listens and with which credentials, and everything else is asked of the host
// over NATS. Results go to standard output, progress and errors to standard
// error; with --json both are for machines. Exit statuses are those of package
// fault.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/loomrun/loom/internal/cli"
)

func main() {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	hangup := !signal.Ignored(syscall.SIGHUP) // as nohup has it
	if hangup {
		ending = append(ending, syscall.SIGHUP) // the terminal is closed
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write that nobody reads fails, and the command ends as it should
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once, which loses nothing
		if hangup {
			signal.Ignore(syscall.SIGHUP) // of a terminal there are several
		}
	})
	status := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(status))
}
