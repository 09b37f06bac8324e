//go:build unix

package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const projectID = "large"

// most is how long all of it may take.
const most = 15 * time.Minute

//go:embed large.yaml
var definition []byte

type options struct {
	dir, from string
	n         int
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "`DIRECTORY` to work in, which is made; where its files lie is what is measured")
	flag.StringVar(&o.from, "from", "", "the `DIRECTORY` whose files the repository has; empty for those of Go")
	flag.IntVar(&o.n, "n", 10, "how many beads at once, after one alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "large:", err)
		os.Exit(1) //nolint:gocritic // what is deferred is for the end of a process too
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.dir == "" {
		return errors.New("-dir is missing")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	repository, files, err := makeRepository(ctx, o)
	if err != nil {
		return err
	}
	calls, err := countCalls(o.dir)
	if err != nil {
		return err
	}
	data, key := filepath.Join(o.dir, "data"), filepath.Join(o.dir, "ceo.nk")
	h, err := host.Start(ctx, host.Config{
		Data: data, CEOKey: key, Listen: "127.0.0.1:0", Model: scripted.New("large", answer),
		Projects: []host.Project{{ID: projectID, Repository: repository, Checks: []string{"test -s " + lastFile}}},
		Agents:   map[string]int{"qa-engineer": o.n, "implementer": o.n, "engineering-manager": 2},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer h.Stop(context.Background())
	w, err := follow(h)
	if err != nil {
		return err
	}
	defer w.close()
	if err := define(ctx, h, data, key); err != nil {
		return err
	}
	ops, err := client.Dial(data)
	if err != nil {
		return err
	}
	defer ops.Close()
	fmt.Printf("%d files; sandbox: %t\n", files, h.Sandboxed())
	for _, round := range []round{{"the first alone", 1, ""}, {"the next alone", 1, ""}, {fmt.Sprintf("%d at once", o.n), o.n, ""}, {"one that adds a binary", 1, more}} {
		if err := round.run(ctx, o.dir, ops, w, calls); err != nil {
			return err
		}
	}
	w.said()
	return nil
}

// define gives the project its workflow, by the CEO's command.
func define(ctx context.Context, h *host.Host, data, file string) error {
	def, err := processes.Parse("large.yaml", definition, roles.Builtin())
	if err != nil {
		return err
	}
	key, err := ceokey.Open(file)
	if err != nil {
		return err
	}
	ceo, err := client.DialCEO(data)
	if err != nil {
		return err
	}
	defer ceo.Close()
	cmd, err := key.Define(h.Deployment(), projectID, &loomv1.ChangeDefinition{Definition: def, Reason: "the workflow of the benchmark"})
	if err != nil {
		return err
	}
	return ceo.Present(ctx, "define", cmd)
}
