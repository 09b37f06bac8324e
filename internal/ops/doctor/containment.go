package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/internal/place/sandbox/probe"
	"github.com/loomrun/loom/roles"
)

// without is what to do where there is no sandbox.
const without = "see the checks of namespaces above; in a container, allow it user namespaces (docs/deploy/README.md); " +
	"or run with --unsandboxed, if agents may do on this machine what you may"

func sandboxes(_ context.Context, m *Machine, n *notes) {
	r := sandbox.Check()
	switch {
	case m.Unsandboxed:
		n.warn("turned off: tools, checks and hooks run on this machine as it is", "leave --unsandboxed out")
	case len(r.Missing) > 0:
		n.fail("commands of agents are refused: "+strings.Join(r.Missing, "; "), without)
	default:
		n.good(strings.Join(r.Layers, ", "))
		limits(m, n)
	}
	for _, weak := range r.Weak {
		n.warn(weak, "nothing has to be done; docs/security.md says what it means, and on Linux a newer kernel, or an overlay file system for this user, would add it")
	}
}

// limits says what commands may use at most, and which roles ask for more.
func limits(m *Machine, n *notes) {
	most := m.Openings.Most()
	n.good("at most " + most.String())
	set := m.roles()
	for _, name := range set.Names() {
		role, _ := set.Get(name)
		if over := role.Sandbox.Beyond(most); len(over) > 0 {
			n.warn(fmt.Sprintf("role %s asks for more (%s) and has no more", name, strings.Join(over, ", ")),
				"give more with --sandbox-limit KEY=VALUE,... if this machine has it, or have the role ask for less")
		}
	}
	if most.Network == roles.NetworkHost {
		n.warn("roles whose files say network: host reach whatever this machine reaches", "leave network=host out of --sandbox-limit unless you mean it")
	}
}

// unsandboxed names the hosts of the deployment that runs here which run commands
// without a sandbox.
func unsandboxed(ctx context.Context, m *Machine, n *notes) {
	reply := hostsNow(ctx, m, n, "which run commands without a sandbox")
	if reply == nil {
		return
	}
	var bare []string
	for _, h := range reply.Hosts {
		if h.Unsandboxed {
			bare = append(bare, h.Host)
		}
	}
	if len(bare) > 0 {
		n.warn("commands of agents run on the machine as it is on "+strings.Join(bare, ", "), "start these hosts without --unsandboxed")
		return
	}
	n.good("no host runs commands without a sandbox")
}

// workspaces tries what agents' commands need: git, a build that records its
// commit, and the programs that version managers keep.
func workspaces(ctx context.Context, m *Machine, n *notes) {
	switch {
	case m.Workspace == nil:
		n.good("nothing is tried in a workspace")
		return
	case m.Unsandboxed || len(sandbox.Check().Missing) > 0:
		n.warn("nothing was tried in a workspace, because there is no sandbox", "see the check of the sandbox")
		return
	}
	trials, err := m.Workspace(ctx)
	if err != nil {
		n.refuse(Failed, err, "let this user make files in the directory for temporary files, and have git 2.38 or newer")
		return
	}
	judgeTrials(n, trials)
}

func judgeTrials(n *notes, trials []Trial) {
	var work []string
	for _, t := range trials {
		if t.Err != nil {
			n.warn(fmt.Sprintf("%s does not work in the sandbox: %v", t.What, t.Err), "name what it needs to read with --sandbox-read PATH")
			continue
		}
		work = append(work, t.What)
	}
	if len(work) > 0 {
		n.good("in a workspace work: " + strings.Join(work, "; "))
	}
}

// probes tries to get out of the real sandbox.
func probes(ctx context.Context, m *Machine, n *notes) {
	if m.Unsandboxed || len(sandbox.Check().Missing) > 0 {
		n.warn("none was tried, because there is no sandbox", "see the check of the sandbox")
		return
	}
	if len(probe.All()) == 0 {
		n.warn("none was tried: there are probes for Linux alone", "see the check of the sandbox for what was tried instead")
		return
	}
	results, err := probe.Run(ctx)
	if err != nil {
		n.refuse(Failed, err, without)
		return
	}
	judgeProbes(n, results)
}

func judgeProbes(n *notes, results []probe.Result) {
	escaped := probe.Escaped(results)
	for _, r := range escaped {
		n.fail(fmt.Sprintf("%s (promise %s): %s", r.Name, r.Promise, r.Why), "do not run agents here, and report this with what \"loom doctor --json\" says")
	}
	if len(escaped) == 0 {
		n.good(fmt.Sprintf("all %d tries to get out of the sandbox are refused", len(results)))
	}
}

func landlock(_ context.Context, _ *Machine, n *notes) {
	if abi := sandbox.LandlockABI(); abi > 0 {
		n.good(fmt.Sprintf("ABI %d", abi))
		return
	}
	n.warn("the kernel has none: the second layer around files is missing", "use Linux 5.13 or newer with landlock among the security modules (lsm=)")
}
