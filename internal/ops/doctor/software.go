package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
)

func configuration(_ context.Context, m *Machine, n *notes) {
	if m.Configuration != nil {
		n.refuse(Failed, m.Configuration, `correct it; "loom config validate FILE" checks one file`)
		return
	}
	for _, name := range m.Ignored {
		n.warn(name+" is set and sets nothing", "unset it, or give it the name of a flag")
	}
	n.good(`valid; "loom config show" shows it`)
}

func gitVersion(ctx context.Context, _ *Machine, n *notes) {
	version, err := git.Version(ctx)
	if err != nil {
		n.refuse(Failed, err, "install git and put it into PATH")
		return
	}
	n.good(version)
}

func projects(ctx context.Context, m *Machine, n *notes) {
	if len(m.Projects) == 0 {
		n.good("none is configured; a host goes on with those that it had")
	}
	for _, p := range m.Projects {
		if head, err := branch(ctx, p); err != nil {
			n.refuse(Failed, err, "name a git repository with a commit on the branch: --project NAME=PATH@BRANCH")
		} else {
			n.good(fmt.Sprintf("%s: %s, branch %s", p.ID, p.Path, head))
		}
	}
	if m.Registered == nil {
		return
	}
	for _, l := range m.Registered(ctx) {
		n.warn(l.What, l.Do)
	}
}

// setups says which commands make checkouts of each project ready, and what they lack.
func setups(ctx context.Context, m *Machine, n *notes) {
	if m.Setup == nil || len(m.Projects) == 0 {
		n.good("there is no project to look at")
		return
	}
	for _, p := range m.Projects {
		steps, err := m.Setup(ctx, p.ID)
		if err != nil {
			n.refuse(Warned, err, "see the check of projects")
			continue
		}
		if len(steps) == 0 {
			n.good(p.ID + ": none is named, and no lock file asks for one")
		}
		for _, s := range steps {
			what := p.ID + ": " + s.Command
			if s.For != "" {
				what += ", for " + s.For
			}
			if len(s.Keeps) > 0 {
				what += ", keeps " + strings.Join(s.Keeps, ", ")
			}
			if len(s.Lacks) == 0 {
				n.good(what)
			}
			for _, l := range s.Lacks {
				n.warn(what+": "+l.What, l.Do)
			}
		}
	}
}

func branch(ctx context.Context, p Project) (string, error) {
	r, err := git.Open(ctx, p.Path)
	if err != nil {
		return "", err
	}
	name, _, err := r.Branch(ctx, p.Branch)
	if err != nil {
		return "", fault.From(err).At("project " + p.ID + ", " + p.Path)
	}
	return name, nil
}

func ports(ctx context.Context, m *Machine, n *notes) {
	_, running := datadir.InUse(m.Data)
	for _, p := range []struct {
		what, address, flag string
		soft                bool
	}{{"clients", m.Listen, "--listen", false}, {"HTTP", m.HTTP, "--http", m.HTTPIfFree}, {"cluster", m.Cluster, "--cluster-listen", false}} {
		err := error(nil)
		if p.address != "" {
			err = broker.Free(ctx, p.address)
		}
		switch {
		case p.address == "":
			n.good(p.what + ": no port is opened")
		case err == nil:
			n.good(fmt.Sprintf("%s: %s is free", p.what, p.address))
		case running:
			n.good(fmt.Sprintf("%s: %s is taken, and a host runs on the data directory", p.what, p.address))
		case p.soft:
			n.refuse(Warned, err, "free the port, or name another address with "+p.flag)
		default:
			n.refuse(Failed, err, "free the port, or name another address with "+p.flag)
		}
	}
}

// network looks at what would be open to others.
func network(_ context.Context, m *Machine, n *notes) {
	var open []string
	for _, address := range []string{m.Listen, m.HTTP} {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			open = append(open, address)
		}
	}
	said := strings.Join(open, " and ")
	switch {
	case len(open) == 0:
		n.good("only this machine can connect")
	case m.Certificate:
		n.good(said + ": open to the network, with TLS")
	case m.Insecure:
		n.warn(said+": open to the network without TLS", "make a certificate with \"loom auth tls init --host NAME\", and leave --insecure-network out")
	default:
		n.fail(said+": open to the network without TLS, which a host refuses", "make a certificate with \"loom auth tls init --host NAME\", or give --tls-cert and --tls-key")
	}
}

// oldestNATS is the first server whose answers to lost and late writes were
// tried; its journal relies on them.
var oldestNATS = [3]int{2, 15, 0}

func natsVersion(_ context.Context, _ *Machine, n *notes) {
	if older(broker.Version, oldestNATS) {
		n.fail("the embedded server is "+broker.Version, fmt.Sprintf("build with %d.%d.%d or newer", oldestNATS[0], oldestNATS[1], oldestNATS[2]))
		return
	}
	n.good("the embedded server is " + broker.Version)
}

// older reports whether a version, "2.15.2" or "2.15.2-RC.1", is before
// another.
func older(version string, than [3]int) bool {
	head, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts := strings.Split(head, ".")
	for i, want := range than {
		have := -1
		if i < len(parts) {
			if v, err := strconv.Atoi(parts[i]); err == nil {
				have = v
			}
		}
		if have != want {
			return have < want
		}
	}
	return false
}

// secrets looks at who may read the files of secrets. Those of containers are
// everybody's in there, and there is nobody else.
func secrets(_ context.Context, m *Machine, n *notes) {
	for _, s := range m.Secrets {
		if s.Problem != nil {
			n.refuse(Failed, s.Problem, "let this user read it, and nobody else: chmod 600")
			continue
		}
		info, err := os.Stat(s.File)
		if s.File != "" && err == nil && info.Mode().Perm()&0o004 != 0 && !strings.HasPrefix(s.File, "/run/secrets/") {
			n.warn(fmt.Sprintf("everybody may read %s, the file of %s (mode %04o)", s.File, s.Name, info.Mode().Perm()), "chmod 600 "+s.File)
			continue
		}
		n.good(fmt.Sprintf("%s is set, from %s", s.Name, s.From))
	}
	if len(m.Secrets) == 0 {
		n.good("none is set; scripted models need none")
	}
}

func models(ctx context.Context, m *Machine, n *notes) {
	if m.Open == nil {
		return
	}
	if len(m.Models) == 0 {
		n.warn("no model is named, so work waits", "name one with --model, LOOM_MODEL or model = in loom.toml: anthropic:MODEL, google:MODEL, openai:MODEL, or scripted:demo to try")
	}
	for _, one := range m.Models {
		terms, err := m.Open(one.Spec)
		said := fmt.Sprintf("%s (%s): what it needs is there", one.Spec, one.From)
		if err == nil && m.Ask != nil {
			err = m.Ask(ctx, one.Spec)
			said = fmt.Sprintf("%s (%s) answers", one.Spec, one.From)
		}
		if err != nil {
			n.refuse(Failed, err, cmp.Or(model.Remedy(err), "look whether this machine reaches the provider, and ask again"))
			continue
		}
		n.good(said)
		for _, t := range terms {
			n.good(t)
		}
	}
}

// data looks at who may use the data directory.
func data(_ context.Context, m *Machine, n *notes) {
	info, err := os.Stat(m.Data)
	switch {
	case os.IsNotExist(err):
		n.good(m.Data + " is made at the first start")
	case err != nil:
		n.refuse(Failed, fault.New("data/permissions", "the data directory cannot be read").At(m.Data).Because(err), "let this user read it, or name another with --data")
	case !info.IsDir():
		n.fail(m.Data+" is no directory", "name another with --data")
	case info.Mode().Perm()&0o022 != 0:
		n.fail(fmt.Sprintf("others may write into %s (mode %04o)", m.Data, info.Mode().Perm()), "chmod 700 "+m.Data)
	case info.Mode().Perm()&0o077 != 0:
		n.warn(fmt.Sprintf("others may look into %s (mode %04o)", m.Data, info.Mode().Perm()), "chmod 700 "+m.Data)
	default:
		n.good(fmt.Sprintf("%s, mode %04o", m.Data, info.Mode().Perm()))
	}
	if pid, used := datadir.InUse(m.Data); used {
		n.good(fmt.Sprintf("a host runs on it, process %d", pid))
	}
}
