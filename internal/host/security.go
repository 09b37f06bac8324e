package host

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// securityNotes put on record what a host does less safely than it would by itself. All
// methods may be called at the same time.
type securityNotes struct {
	host string
	// do sends a command in the host's name; nil on a leaf host, which writes no journal.
	do     func(ctx context.Context, project string, cmd *loomv1.Command) error
	log    *slog.Logger
	noted  sync.Map // what trusted has noted
	leaves sync.Map // the starts of leaf hosts that leaf has noted, by name
}

// noteSecurity puts on record what this host does less safely than it would by
// itself: a port that is open to the network without TLS, commands of agents that
// run without a sandbox.
func (h *Host) noteSecurity(ctx context.Context) error {
	var notes []*loomv1.NoteSecurity
	for _, address := range slices.Sorted(maps.Keys(h.Open())) {
		if !h.Open()[address] {
			notes = append(notes, &loomv1.NoteSecurity{What: "insecure-network", Detail: "port " + address + " is open to the network without TLS"})
		}
	}
	if h.config.Unsandboxed {
		notes = append(notes, unsandboxed(h.dir.Manifest().Host))
	}
	for _, n := range notes {
		if err := h.notes.note(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// unsandboxed says that an operator has commands on a host run without a sandbox.
func unsandboxed(host string) *loomv1.NoteSecurity {
	return &loomv1.NoteSecurity{What: "unsandboxed", Detail: "on host " + host + " tools, checks and hooks run on the machine as it is"}
}

// noteWithin is how long a turn waits for a note about its tools.
const noteWithin = 30 * time.Second

// trusted puts on record, once a start, that agents use what an operator has
// looked at on the machine as it is and then trusted. What cannot be noted soon,
// as while system's journal takes nothing, is noted when it is used the next time:
// no turn waits longer for it.
func (n *securityNotes) trusted(ctx context.Context, unsandboxed bool, what string, at time.Time) {
	detail := what + " was started on the machine as it is when it was trusted, at " + at.UTC().Format(time.RFC3339)
	if !unsandboxed {
		return
	}
	if _, noted := n.noted.LoadOrStore(detail, true); noted {
		return
	}
	n.log.Warn("agents use what was trusted without a sandbox", "what", detail)
	if n.do == nil { // of a leaf host, which writes no journal
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	if err := n.note(ctx, &loomv1.NoteSecurity{What: "trusted-unsandboxed", Detail: "on host " + n.host + " " + detail}); err != nil {
		n.noted.Delete(detail)
		n.log.Warn("it is not on record yet", "what", detail, "error", err)
	}
}

func (n *securityNotes) note(ctx context.Context, what *loomv1.NoteSecurity) error {
	return n.do(ctx, project.System, &loomv1.Command{Body: &loomv1.Command_NoteSecurity{NoteSecurity: what}})
}

// leaf puts on record that a leaf host which asks to be one runs commands
// without a sandbox: once for each of its starts that this host hears of. What
// cannot be noted is noted when it asks the next time.
func (n *securityNotes) leaf(ctx context.Context, p *loomv1.HostPresence) {
	if epoch, _ := n.leaves.Load(p.Host); !p.Unsandboxed || epoch == p.Epoch {
		return
	}
	if err := n.note(ctx, unsandboxed(p.Host)); err != nil {
		n.log.Warn("it is not on record yet that a leaf host runs commands without a sandbox", "name", p.Host, "error", err)
		return
	}
	n.leaves.Store(p.Host, p.Epoch)
}
