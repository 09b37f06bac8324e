package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// answerWithin is how long the host that runs here may take.
const answerWithin = 5 * time.Second

// hostsNow asks the host that runs here for the hosts of its deployment. Nil means
// that there is no answer, which n has noted.
func hostsNow(ctx context.Context, m *Machine, n *notes, what string) *loomv1.HostsReply {
	if _, running := datadir.InUse(m.Data); !running || m.Hosts == nil {
		n.good("no host runs here that could be asked " + what)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	reply, err := m.Hosts(ctx)
	if err != nil {
		n.refuse(Warned, err, "wait until the host serves: loom health --ready")
		return nil
	}
	return reply
}

// builds says whether all hosts of the deployment that runs here are of one
// build.
func builds(ctx context.Context, m *Machine, n *notes) {
	reply := hostsNow(ctx, m, n, "which builds there are")
	if reply == nil {
		return
	}
	versions, list := versionsOf(reply.Hosts)
	if len(versions) > 1 {
		n.warn("hosts are of several builds: "+strings.Join(list, ", "), "upgrade all to one; until then events are written "+held(reply))
		return
	}
	n.good("all hosts are of version " + strings.Join(versions, ""))
}

// versionsOf returns the versions of hosts, and each host with its own.
func versionsOf(hosts []*loomv1.HostPresence) (versions, list []string) {
	for _, h := range hosts {
		if h.Version != "" { // else it has never said anything
			versions, list = append(versions, h.Version), append(list, h.Host+" "+h.Version)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), list
}

func held(reply *loomv1.HostsReply) string {
	if reply.Format == 0 {
		return "as the older ones do"
	}
	return fmt.Sprintf("in format %d, for host %s", reply.Format, reply.FormatHeldBy)
}
