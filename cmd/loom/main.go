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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once, which loses nothing
	status := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(status))
}
