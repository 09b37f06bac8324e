package hosting

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/board"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	cliproject "github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/config"
)

// start is what the flags of "up" say.
type start struct {
	config       host.Config // what flags are read into as it is
	with         *means.Means
	projects     means.Projects
	routes       []string
	closed, leaf bool
	shown        string
	joining      cluster.Joining
}

func (a *Commands) newStart() *start { return &start{with: means.New(a.Console, true)} }

func (s *start) flags(f *pflag.FlagSet) {
	c := &s.config
	s.projects.Flags(f)
	f.StringArrayVar(&s.routes, "route-file", nil, "routing rules of error reports, `[NAME=]FILE`")
	f.StringVar(&c.Listen, "listen", host.DefaultListen, "`HOST:PORT` for clients")
	f.StringVar(&c.HTTP, "http", host.DefaultHTTP, "`HOST:PORT` of HTTP, or off (default: $LOOM_HTTP)")
	f.BoolVar(&s.closed, "no-listen", false, "open no port")
	f.StringVar(&c.Certificate, "tls-cert", "", "certificate `FILE` to show (see \"loom auth tls\")")
	f.StringVar(&c.Key, "tls-key", "", "`FILE` of its key")
	f.BoolVar(&c.Insecure, "insecure-network", false, "open ports to the network without TLS")
	f.StringArrayVar(&c.HTTPHosts, "http-host", nil, "`NAME` of a proxy in front of HTTP, too")
	f.BoolVar(&c.RequireAuth, "require-auth", false, "refuse clients without credentials on loopback too")
	f.StringVar(&s.shown, "board", board.Auto, "`WHAT` to show: auto, lines or off")
	f.BoolVar(&s.leaf, "agents-only", false, "only run agents, with --creds of a worker")
	s.joining.Flags(f)
	s.with.Flags(f)
	f.StringToStringVar(&c.Labels, "label", nil, "what this host is, for \"loom scale\", `KEY=VALUE,...`")
}

// configure returns the host that the flags say, or all that is wrong with them. An
// address of HTTP that nobody asked for is used only if it is free.
func (a *Commands) configure(s *start, askedHTTP bool) (host.Config, error) {
	c := s.config
	errs := fault.All(board.Check(s.shown))
	named, err := s.projects.All()
	c.Projects = named
	errs = append(errs, fault.All(err)...)
	means.MarkStanding(c.Projects, a.Given)
	errs = append(errs, fault.All(cliproject.New(a.Console).FillReporting(&c, s.routes))...)
	if s.closed {
		c.Listen = ""
	}
	if c.HTTPIfFree = !askedHTTP; c.HTTP == "off" {
		c.HTTP = ""
	}
	errs = append(errs, fault.All(s.with.Fill(&c))...)
	if !s.leaf {
		errs = append(errs, fault.All(s.joining.Fill(&c))...)
	}
	return c, fault.Join(errs)
}

// Refused reports all that "loom up" would refuse if a configuration had these settings
// and no others, each error where its setting stands. It starts nothing. That a key of a
// model is not set is no matter of a file.
func (a *Commands) Refused(ctx context.Context, settings config.Layer) error {
	f := pflag.NewFlagSet("up", pflag.ContinueOnError)
	b := *a.Console
	alone := New(&b)
	s := alone.newStart()
	s.flags(f)
	errs := fault.All(b.Assume(settings, f))
	c, err := alone.configure(s, f.Changed("http"))
	errs = append(errs, fault.All(err)...)
	if c.Model == nil {
		c.Model = model.None{} // which was refused
	}
	errs = append(errs, fault.All(c.Check(ctx))...)
	errs = slices.DeleteFunc(errs, func(e *fault.Error) bool { return e.Code == "model/no-key" })
	return console.InOrder(b.Whence(fault.Join(errs)))
}
