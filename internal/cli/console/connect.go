package console

import (
	"context"
	"sync"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Target is the host to talk to, and as whom: as the operator of the data
// directory, or as who the credentials are of.
func (a *Console) Target() client.Place {
	return client.Place{Data: a.Data, Credentials: a.Creds, URL: a.URL}
}

// With calls f with a connection to the host. Where none runs on the data directory, f
// reads what it holds: every service that only reads is answered from the files.
func (a *Console) With(ctx context.Context, f func(c *client.Client) error) error {
	c, err := client.Open(a.Target())
	if fault.Code(err) == "host/not-running" && a.Creds == "" {
		r := &resting{console: a, off: err}
		defer r.close()
		return a.inProject(ctx, client.Over(r.ask, err), f)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return a.inProject(ctx, c, f)
}

// Alone reports whether the host that c is connected to is the only one of its
// deployment; where that cannot be told it is not.
func (a *Console) Alone(ctx context.Context, c *client.Client) bool {
	h, err := c.Hosts(ctx, &loomv1.HostsRequest{})
	return err == nil && len(h.Hosts) == 1
}

// resting answers from a data directory that no host runs on, which is opened when
// something is asked that can be answered so.
type resting struct {
	console *Console
	off     error // what is answered otherwise
	mu      sync.Mutex
	from    *reading.AtRest
}

func (r *resting) ask(ctx context.Context, service string, request []byte) ([]byte, error) {
	if !reading.Reads(service) {
		return nil, r.off
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from == nil {
		from, err := reading.OpenAtRest(context.WithoutCancel(ctx), r.console.Data, r.console.Confidential(), r.console.Known)
		switch fault.Code(err) {
		case "":
		case "data/manifest", "data/stream-missing", "data/locked":
			return nil, r.off // there is nothing to read, or a host that does not answer
		default:
			return nil, err
		}
		r.from = from
		if err := r.tell(ctx); err != nil {
			return nil, err
		}
	}
	return r.from.Ask(ctx, service, request)
}

// tell says what is read: people must not take it for what happens now.
func (r *resting) tell(ctx context.Context) error {
	newest, err := r.from.Newest(ctx)
	if err != nil || r.console.Quiet || r.console.atRest {
		return err
	}
	r.console.atRest = true
	until := "nothing was recorded in it"
	if n := len(newest.GetEvents()); n > 0 {
		until = "its records end at " + Stamp(timestamppb.New(newest.Events[n-1].Time.AsTime()))
	}
	r.console.Note("no host runs on %s: this is read from its files, and %s", Tilde(r.console.Data), until)
	return nil
}

func (r *resting) close() {
	if r.from != nil {
		_ = r.from.Close()
	}
}
