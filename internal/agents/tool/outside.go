package tool

import (
	"context"
	"crypto/rand"
	"os/exec"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Outside is a tool that is no part of the program: one of a server, or of a
// process's package. What it may do, its own sandbox says.
type Outside struct {
	Spec
	// Run carries out a call whose arguments fit the schema. Failed says that
	// the tool refused.
	Run func(ctx context.Context, call *loomv1.ToolCall) (output string, failed bool, err error)
	// Watched has the result say which files of the workspace are different after
	// a call. It may then take no longer than Timeout, whatever the role allows.
	Watched bool
	// Ran says in a line how what a call starts is kept apart, for its record.
	Ran string
}

// foreign makes a tool of one from outside, or says why it cannot be used.
func foreign(o Outside) (*tool, error) {
	t := &tool{Spec: o.Spec}
	if t.Timeout <= 0 {
		t.Timeout = Timeout
	}
	if find(t.Name) != nil {
		return nil, fault.New("tool/unknown", "there is a tool of this name already").At("tool").Got(t.Name)
	}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ *Set, call *loomv1.ToolCall) Result {
		text, failed, err := o.Run(ctx, call)
		switch {
		case ctx.Err() != nil:
			return refused(ended(ctx))
		case err != nil:
			return refused(err)
		case failed:
			return Result{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, Code: "tool/failed", Summary: "tool/failed: the tool refused", Output: text}
		}
		return done(text, "%d bytes", len(text))
	}
	t.run = func(ctx context.Context, s *Set, call *loomv1.ToolCall) (r Result) {
		if o.Watched {
			r = s.watched(ctx, t, func(ctx context.Context) Result { return run(ctx, s, call) })
		} else {
			r = run(ctx, s, call)
		}
		r.Ran = o.Ran
		return r
	}
	return t, nil
}

// watched runs a call of a tool within the tool's own time, and says what it
// changed.
func (s *Set) watched(ctx context.Context, t *tool, run func(context.Context) Result) Result {
	limited, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	if t.Class == reads {
		return run(limited)
	}
	before, known := s.stamps(ctx)
	r := run(limited)
	s.report(ctx, &r, before, known)
	return r
}

// find finds a tool of the set.
func (s *Set) find(name string) *tool {
	if t := find(name); t != nil {
		return t
	}
	for _, t := range s.foreign {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// FromOutside reports whether a tool is no part of the program.
func FromOutside(name string) bool { return find(name) == nil }

// Class returns the class of a tool of the set; of an unknown one, EXEC.
func (s *Set) Class(name string) loomv1.ToolClass {
	if t := s.find(name); t != nil {
		return t.Class
	}
	if name == Use { // which is always refused
		return reads
	}
	return executes
}

// Allows reports whether a list names a tool: by its name or, for tools of
// servers and packages, by what it begins with, as in "mcp_github_*".
func Allows(list []string, name string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		start, open := strings.CutSuffix(l, "*")
		return l == name || open && (strings.HasPrefix(l, "mcp_") || strings.HasPrefix(l, "pkg_")) && strings.HasPrefix(name, start)
	})
}

// Environment is what a program from outside gets to see of the host's
// environment: where programs are, its language, a home of its own, and of more
// what does not look like a secret.
func Environment(home string, more []string) []string { return environment(home, more) }

// Unconfined prepares a program to run on the machine as it is, where an
// operator has allowed that. When ctx ends, it ends with all that it started, as
// far as the system can tell.
func Unconfined(ctx context.Context, dir string, env, argv []string) (*exec.Cmd, error) {
	p, mark := native(), rand.Text()
	cmd, err := p.prepare(ctx, command{argv: argv, dir: dir, env: append(env, markName+"="+mark)})
	if err != nil {
		return nil, err
	}
	cmd.Cancel = func() error {
		p.end(cmd, mark)
		return nil
	}
	return cmd, nil
}
