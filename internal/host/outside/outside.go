// Package outside gives agents tools that are not Loom's: those of servers of the Model
// Context Protocol that the operator trusts, and those that packages of processes bring.
package outside

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/mcp"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Config says what there is of tools, and how they are kept apart.
type Config struct {
	Dir      *datadir.Dir
	Commands *isolation.Commands
	// Files name servers, beside the one in each project's repository.
	Files []string
	Blobs blob.Store // has the tools of packages that the CEO has trusted
	// NoteTrust is told of what was looked at without a sandbox when it was trusted.
	NoteTrust func(ctx context.Context, unsandboxed bool, what string, at time.Time)
	Version   string // of this release, as servers are told
	Log       *slog.Logger
}

// Tools opens the tools of servers and packages for turns of agents. All methods may be
// called at the same time.
type Tools struct {
	Config

	mu   sync.Mutex             // also held while files are fetched: once is enough
	pins map[string]toolkit.Pin // by what names their bytes; the files are in the data directory
}

// New returns tools of which none is open.
func New(c Config) *Tools { return &Tools{Config: c} }

// Servers opens the tools of servers for one turn: those that the operator has
// trusted, of the ones that files name. What is wrong with a file is logged,
// and the turn goes on without its servers.
func (ts *Tools) Servers(ctx context.Context, q agent.OutsideQuery) ([]tool.Outside, func()) {
	servers := ts.servers(q.Project)
	pins, err := mcp.NewTrust(ts.Dir.Path()).Pins()
	if err != nil {
		ts.Log.Error("no tools of servers: what was trusted cannot be read", "error", err)
		return nil, func() {}
	}
	home, err := os.MkdirTemp(ts.Dir.Path("scratch"), "servers-")
	if err != nil {
		ts.Log.Error("no tools of servers: they have no directory", "error", err)
		return nil, func() {}
	}
	box := mcp.Open(servers, pins, mcp.Options{Start: ts.server(q, home), Env: os.Getenv, Version: ts.Version})
	for _, p := range box.Pins() {
		ts.NoteTrust(ctx, p.Unsandboxed, "server "+p.Server, p.At)
	}
	var list []tool.Outside
	for _, o := range box.Offers() {
		t := offered(o)
		t.Ran = ts.ranServer(q, o)
		list = append(list, t)
	}
	return list, func() {
		box.Close()
		_ = discard.All(home)
	}
}

// ranServer says how the server of a tool is kept apart; nothing where none is
// started for it.
func (ts *Tools) ranServer(q agent.OutsideQuery, o mcp.Offer) string {
	if !o.Started {
		return ""
	}
	limit := q.Role.Sandbox.Within(ts.Commands.Limit())
	switch {
	case o.Network:
		limit.Network = roles.NetworkHost
	case limit.Network == roles.NetworkHost:
		limit.Network = roles.NetworkLoopback // that was trusted without, whatever the role's commands have
	}
	return ts.Commands.Ran(limit)
}

// offered is a server's tool as agents have it. One that may change something
// is recorded as what may not be repeated blindly.
func offered(o mcp.Offer) tool.Outside {
	class := loomv1.ToolClass_TOOL_CLASS_EXEC
	if o.ReadOnly {
		class = loomv1.ToolClass_TOOL_CLASS_READ
	}
	return tool.Outside{
		Spec: tool.Spec{Name: o.Name, Description: o.Description, Class: class, Schema: o.Schema},
		Run: func(ctx context.Context, call *loomv1.ToolCall) (string, bool, error) {
			return o.Call(ctx, call.GetArguments())
		},
	}
}

// servers are those that the files of a project and of the host name. The
// first file that names a server counts.
func (ts *Tools) servers(p *loomv1.ProjectConfig) (all []mcp.Server) {
	for _, file := range append([]string{filepath.Join(p.GetRepository(), mcp.FileName)}, ts.Files...) {
		list, err := ReadServers(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			ts.Log.Warn("servers that a file names are not used", "file", file, "error", err)
		}
		for _, s := range list {
			if !slices.ContainsFunc(all, func(o mcp.Server) bool { return o.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// ReadServers reads a file that names servers. Those that are sound are returned
// with what is wrong with the others.
func ReadServers(file string) ([]mcp.Server, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mcp.MaxFile+1))
	if err != nil {
		return nil, fault.New("mcp/config", "the file cannot be read").At(file).Because(err)
	}
	return mcp.Parse(file, data)
}

// server starts servers for a turn, in the turn's workspace.
func (ts *Tools) server(q agent.OutsideQuery, home string) mcp.Start {
	c := isolation.Confinement{Root: q.Root, Home: home, ReadOnly: q.ReadOnly, Read: append(ts.Commands.Readable(), ts.Commands.Objects(q.Project.GetId())...), Sandbox: ts.Commands.Sandboxed(), Allow: ts.Commands.Unsandboxed, Limit: q.Role.Sandbox.Within(ts.Commands.Limit())}
	return c.Start
}

// LookAtServer starts or reaches a server and returns what it says of its tools.
// It works in dir, which it may only read. Trusted or not, it is gone at the end.
func LookAtServer(ctx context.Context, s mcp.Server, data, dir, version string, network, unsandboxed bool) ([]mcp.Tool, error) {
	home, err := os.MkdirTemp("", "loom-server-")
	if err != nil {
		return nil, fault.New("mcp/failed", "the server has no directory").At(s.Name).Because(err)
	}
	defer discard.All(home)
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New("usage/argument", "not a directory").Got(dir).Because(err)
	}
	c := isolation.Confinement{Root: root, Home: home, ReadOnly: true, Read: (&isolation.Commands{Data: data}).Readable(), Sandbox: !unsandboxed && isolation.CanSandbox(), Allow: unsandboxed}
	return mcp.Look(ctx, s, network, mcp.Options{Start: c.Start, Env: os.Getenv, Version: version})
}
