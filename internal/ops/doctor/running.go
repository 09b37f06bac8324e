package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// hostNow asks the host that runs here about itself. Nil means that none runs, or
// that it does not answer, which other checks say.
func hostNow(ctx context.Context, m *Machine) *loomv1.HostReply {
	if _, running := datadir.InUse(m.Data); !running || m.Host == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	reply, err := m.Host(ctx)
	if err != nil {
		return nil
	}
	return reply
}

// journalTime says whether the journals of the host that runs here have another
// time than its clock.
func journalTime(ctx context.Context, m *Machine, n *notes) {
	reply := hostNow(ctx, m)
	if reply.GetClocksApart() == nil {
		return
	}
	where, apart := "ahead of", reply.ClocksApart.AsDuration().Round(time.Second)
	if apart < 0 {
		where = "behind"
	}
	n.warn(fmt.Sprintf("journal time is %s %s the host's clock", apart.Abs(), where),
		"see that the clock is right; signed commands and deadlines go by it, leases and timeouts by the journal. A journal that is behind catches up at the next start, one that is ahead waits for the clock")
}

// stored says whether the host that runs here has found damage in what it has
// stored.
func stored(ctx context.Context, m *Machine, n *notes) {
	reply := hostNow(ctx, m)
	if reply == nil {
		n.good("no host runs here; its start checks what is stored, and so does loom verify")
		return
	}
	for _, e := range reply.Damage {
		n.refuse(Failed, fault.FromProto(e), "keep the directory, and restore a backup into another")
	}
	if len(reply.Damage) == 0 {
		n.good("the host that runs here has found no damage")
	}
}
