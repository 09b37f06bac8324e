package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Use is the name by which a model calls tools whose schemas it is not shown. A call
// of it that says which was one of that tool; one that does not is told so.
const Use = "use"

// Timeout is how long a tool may take when nobody says otherwise.
const Timeout = 60 * time.Second

// Spec describes a tool to a model.
type Spec struct {
	Name        string
	Description string
	Class       loomv1.ToolClass
	// Schema is the JSON Schema of the arguments, as a model is shown it: without
	// bounds, which calls are held to none the less. No other keys are taken.
	Schema json.RawMessage
	// Timeout is how long a call may take when its caller does not say.
	Timeout time.Duration
}

// Workspace is where the tools of a [Set] work.
type Workspace struct {
	// Root is the directory that holds all they may touch. It must exist.
	Root string

	// ReadOnly denies file_write, file_edit and apply_patch. It does not bind shell.
	ReadOnly bool

	// Kept says why a file may not be removed, by its path; "" if it may. Nil means that
	// each may. It does not bind shell.
	Kept func(path string) string

	// Exec says whether and how shell may run.
	Exec Policy

	// GitDir is a git directory that no agent can write; the one in Root is
	// never read. Empty means that there are no git tools and that searches
	// do not know what git ignores.
	GitDir string

	// Memory is what the project remembers. Nil means that there is no memory.
	Memory Memory

	// Index is the git index that belongs to Root. Empty means GitDir's own.
	Index string

	// Base is the commit that changes are counted from. Empty means HEAD.
	Base string
	// Head is the commit that HEAD is in revisions. Empty means Base.
	Head string

	// Sparse are the directories that are checked out, beside the files at the top
	// and in the directories above them. Empty means that Root has all that Index
	// has.
	Sparse []string

	// Sources may be asked outside of the workspace. Nil means none but what
	// is in the program.
	Sources *Sources

	// Servers are the language servers that lsp_diagnostics asks. Nil means
	// [LanguageServers].
	Servers []LanguageServer

	// Outside are tools that are no part of the program. One whose name is
	// taken, or whose schema cannot be used, is left out.
	Outside []Outside

	// Outputs has the results that output_read reads. Nil means that there are none.
	Outputs Outputs

	// Without are tools that were left out because the host that the work began on
	// could not carry them out: a call of one is told so.
	Without []string

	// Shown is how many bytes of one result its reader sees: tools that give a file
	// or a table in parts make them no longer. Zero means [Shown].
	Shown int

	// Scratch is where private directories of calls are made. Empty means
	// the system's directory for temporary files.
	Scratch string
}

// Contain prepares a command to run in a sandbox: it starts in dir, may change
// what lies in the directories to write, and ends, with all that it started,
// when ctx does.
type Contain func(ctx context.Context, dir string, write, env, argv []string) (*exec.Cmd, error)

// Policy says how commands may run: in a sandbox, or else without one if that
// is allowed, or else not at all.
type Policy struct {
	// Contain is the sandbox. Nil means that there is none.
	Contain Contain

	// Beside is the sandbox of a command that runs beside others. What it changes in
	// caches is in the directory changes, which it has for itself. Nil means that
	// Contain can be had by several commands at once.
	Beside func(changes string) Contain

	// Ran says in a line how commands run, for the record of each call; at most
	// MaxRan bytes count.
	Ran string

	// Allow is the operator's word that commands may run without one.
	Allow bool

	// Env is added to the environment of commands, as "NAME=VALUE"; of the
	// host's own, they get only PATH and LANG. Names that look like those
	// of secrets (such as *_KEY and *_TOKEN) are left out.
	Env []string

	// Told returns, and forgets, what there is to say of the commands that have run
	// since, in lines: it goes to the end of a command's output. Nil means nothing.
	Told func() []string
}

// Decisions is the decision graph, as far as tools use it.
type Decisions interface {
	// Log adds a node. The request in d is the id of the tool call, unique
	// within the turn: logging it again must add nothing and return the
	// same node.
	Log(ctx context.Context, d *loomv1.AddDecision) (*loomv1.DecisionNode, error)

	// Ask answers a question; one for a context is about the work at hand. The
	// answer is the caller's own.
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)

	// Open opens a vote; the same again changes nothing.
	Open(ctx context.Context, b *loomv1.OpenBallot) error

	// Vote casts the vote of the role that is at work; the same again changes
	// nothing.
	Vote(ctx context.Context, v *loomv1.CastVote) error
}

// Set is the tools of one workspace. It may be used by several goroutines; the
// caller keeps calls that write from running at once.
type Set struct {
	ws        Workspace
	decisions Decisions
	processes processes
	foreign   []*tool

	background background
}

// New returns the tools of a workspace. Without d, the decision tools say that
// there is no graph.
func New(ws Workspace, d Decisions) *Set {
	s := &Set{ws: ws, decisions: d, processes: native()}
	for _, o := range ws.Outside {
		if t, err := foreign(o); err == nil && s.find(t.Name) == nil {
			s.foreign = append(s.foreign, t)
		}
	}
	return s
}

// room is how many bytes a tool may give at once that can go on where it ended.
func (s *Set) room() int { return max(cmp.Or(s.ws.Shown, Shown)-512, 512) }

// Specs returns the tools that are named in allow, in a fixed order. Names of
// tools that do not exist are passed over.
func (s *Set) Specs(allow []string) []Spec {
	var list []Spec
	for _, t := range slices.Concat(catalogue(), s.foreign) {
		if Allows(allow, t.Name) {
			list = append(list, t.Spec)
		}
	}
	return list
}

// Class returns the class of a tool of the program; of any other, EXEC.
func Class(name string) loomv1.ToolClass {
	if t := find(name); t != nil {
		return t.Class
	}
	return loomv1.ToolClass_TOOL_CLASS_EXEC
}

// Prints reports whether results of a tool tell what a command wrote, which differs
// from run to run.
func Prints(name string) bool {
	return Class(name) == loomv1.ToolClass_TOOL_CLASS_EXEC || name == process.Name
}

// Call runs a call and returns its result. It never panics and has no error:
// an unknown tool, one that is not in allow, unfit arguments and a failure are
// results. It blocks until the call ends, timeout (zero means the tool's own)
// is over, or ctx ends; then it returns within 2 seconds, and whatever the call
// started is gone.
func (s *Set) Call(ctx context.Context, allow []string, timeout time.Duration, call *loomv1.ToolCall) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = refused(fault.New("tool/failed", "the tool broke down: %v", p))
		}
		r = r.bounded()
	}()
	if call.GetTool() == Use {
		return refused(fault.New("tool/arguments", "it does not say which tool with which arguments").At(Use).
			Want(`{"tool": NAME, "arguments": {...}} with NAME one of %s`, strings.Join(allow, ", ")))
	}
	t, err := s.permitted(allow, call.GetTool())
	if err != nil {
		return refused(err)
	}
	call = t.plainValues(call)
	if err := t.check(call.GetArguments()); err != nil {
		return refused(err)
	}
	if err := s.lacks(t); err != nil {
		return refused(err)
	}
	if timeout <= 0 {
		timeout = t.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if ctx.Err() != nil {
		return refused(ended(ctx))
	}
	return t.run(ctx, s, call)
}

// permitted finds a tool that may be used.
func (s *Set) permitted(allow []string, name string) (*tool, error) {
	t := s.find(name)
	switch {
	case t == nil:
		e := fault.New("tool/unknown", "there is no tool of this name").At("tool").Got(name)
		if e.Hint = suggest.Hint(name, allow); e.Hint == "" {
			e.Hint = "you have " + strings.Join(allow, ", ")
		}
		return nil, e
	case slices.Contains(s.ws.Without, name):
		if err := s.lacks(t); err != nil {
			return nil, err
		}
		return nil, fault.New("tool/unavailable", "%s is not there in this turn: the host that it began on could not carry it out", name).At("tool").
			Want("you have %s", strings.Join(allow, ", "))
	case !Allows(allow, name):
		return nil, fault.New("tool/denied", "your role may not use %s", name).At("tool").
			Want("you have %s", strings.Join(allow, ", "))
	}
	return t, nil
}

// ended says why a context is done.
func ended(ctx context.Context) *fault.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New("tool/timeout", "the call took longer than it may")
	}
	return fault.New("tool/cancelled", "the call was cancelled")
}

// Reconcile says what became of a call that was cut off. With true, the result
// is how it ended, and [loomv1.ToolStatus_TOOL_STATUS_UNKNOWN] when that cannot
// be told; with false, nothing was done that doing it again would double, and
// the call is to be made anew. It changes nothing but what the cut-off call
// left lying about.
func (s *Set) Reconcile(ctx context.Context, call *loomv1.ToolCall) (r Result, settled bool) {
	defer func() {
		if p := recover(); p != nil {
			r, settled = unknown(fmt.Sprintf("looking at it failed: %v", p)), true
		}
	}()
	t := s.find(call.GetTool())
	if t != nil {
		call = t.plainValues(call)
	}
	switch {
	case t == nil || t.check(call.GetArguments()) != nil:
		return Result{}, false // it cannot have run
	case t.reconcile != nil:
		return t.reconcile(ctx, s, call)
	case t.Class == loomv1.ToolClass_TOOL_CLASS_EXEC:
		return unknown("the command was cut off"), true
	}
	return Result{}, false
}
