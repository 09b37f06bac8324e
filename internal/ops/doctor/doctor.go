// Package doctor looks at a machine as a host will use it and says what is
// wrong, and what to do.
//
// It promises that every finding that is not good comes with something to do
// about it, that it changes nothing (it writes and removes one file to measure
// the disk), and that it contacts nobody unless it is given a way to.
//
// It never looks inside a data directory beyond the lock and what the file
// system says of it, and it never shows a secret.
package doctor

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Status says how a check ended.
type Status string

// The ways a check ends.
const (
	Good   Status = "ok"
	Warned Status = "warning" // a host works, and something will be missed
	Failed Status = "failed"  // a host does not start, or does not keep a promise
)

// Finding is what one check has found.
type Finding struct {
	// Check is the name of the check, for example "git".
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Text says what was found.
	Text string `json:"text"`
	// Do says what to do about it; empty only when all is well.
	Do string `json:"do,omitempty"`
}

// Project is a repository that a host would register.
type Project struct{ ID, Path, Branch string }

// Model is a language model that a host would use, and where that is said.
type Model struct{ Spec, From string }

// Secret is a key of a model or another service.
type Secret struct {
	// Name is the variable, From what says it or names its file.
	Name, From string
	// File is where it is read from; empty for the environment.
	File string
	// Problem says why it cannot be read.
	Problem error
}

// Trial is something that was tried, and why it does not work; nil when it does.
type Trial struct {
	What string
	Err  error
}

// SetupStep is a command of a project's setup, the lock file that asks for it, if one
// does, the directories that are kept of its result, and what it lacks.
type SetupStep struct {
	Command, For string
	Keeps        []string
	Lacks        []Lack
}

// Source is something that a tool asks: what it is, what there is to know of it, and
// how it is tried over the network; nil where it is not.
type Source struct {
	Tool, What, Note string
	Try              func(context.Context) error
}

// Lack is something that is missing, and what to do.
type Lack struct{ What, Do string }

// Machine is what is looked at.
type Machine struct {
	// Data is the data directory, which need not be there yet.
	Data string
	// Listen and HTTP are the addresses that a host would listen at; empty for
	// none. HTTPIfFree says that it goes on without HTTP.
	Listen, HTTP string
	HTTPIfFree   bool
	// Cluster is where hosts of the same deployment would meet it; empty for none.
	Cluster string
	// Certificate says that a certificate for TLS is there, and Insecure that the
	// operator does without.
	Certificate, Insecure bool
	// Unsandboxed says that the operator wants no sandbox.
	Unsandboxed bool
	Projects    []Project
	// Roles are those that a host would have agents of, nil for the built-in ones;
	// Openings what it would open to them.
	Roles    *roles.Set
	Openings roles.Openings
	Models   []Model
	// Sources are what agents would ask outside of their workspaces, by tool.
	Sources []Source
	Secrets []Secret
	// Configuration is what is wrong with it, nil for nothing.
	Configuration error
	// Ignored are variables that set nothing.
	Ignored []string
	// Open opens a model without contacting anybody and says how it would be asked,
	// a line for each that has an address; nil leaves models out.
	Open func(spec string) (terms []string, err error)
	// Ask asks a model something, over the network. Nil asks nobody.
	Ask func(ctx context.Context, spec string) error
	// Online has sources tried over the network.
	Online bool
	// Workspace tries what agents' commands need in a workspace that is thrown away.
	// Nil tries nothing.
	Workspace func(ctx context.Context) ([]Trial, error)
	// Registered finds projects that are registered otherwise than the files of their
	// repositories say. Nil looks for none.
	Registered func(ctx context.Context) []Lack
	// Setup looks at the setup of a project. Nil looks at none.
	Setup func(ctx context.Context, project string) ([]SetupStep, error)
	// Hosts asks the host that runs on Data which hosts its deployment has. Nil
	// asks nobody.
	Hosts func(ctx context.Context) (*loomv1.HostsReply, error)
	// Host asks the host that runs on Data about itself. Nil asks nobody.
	Host func(ctx context.Context) (*loomv1.HostReply, error)
}

// check is one look at the machine.
type check struct {
	name string
	look func(ctx context.Context, m *Machine, n *notes)
}

// checks are in the order of a report.
var checks = []check{
	{"configuration", configuration},
	{"system", system},
	{"memory", memory},
	{"clock", clock},
	{"stored", stored},
	{"open files", openFiles},
	{"git", gitVersion},
	{"projects", projects},
	{"setup", setups},
	{"data", data},
	{"disk", disk},
	{"ports", ports},
	{"network", network},
	{"nats", natsVersion},
	{"builds", builds},
	{"namespaces", namespaces},
	{"seccomp", seccomp},
	{"landlock", landlock},
	{"control groups", controlGroups},
	{"sandbox", sandboxes},
	{"unsandboxed", unsandboxed},
	{"workspace", workspaces},
	{"probes", probes},
	{"secrets", secrets},
	{"models", models},
	{"sources", sources},
	{"roles", reaches},
}

// Names lists the checks, in the order of a report.
func Names() []string {
	var list []string
	for _, c := range checks {
		list = append(list, c.name)
	}
	return list
}

// Examine runs all checks in their order and hands each finding to each as soon
// as it is there. It stops early only when ctx ends.
func (m Machine) Examine(ctx context.Context, each func(Finding)) []Finding {
	var all []Finding
	for _, c := range checks {
		if ctx.Err() != nil {
			break
		}
		n := &notes{check: c.name}
		c.look(ctx, &m, n)
		for _, f := range n.found {
			each(f)
		}
		all = append(all, n.found...)
	}
	return all
}

// Count returns how many findings have that status.
func Count(all []Finding, s Status) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Status != s }))
}

// notes collects the findings of one check.
type notes struct {
	check string
	found []Finding
}

func (n *notes) good(text string)     { n.add(Good, text, "") }
func (n *notes) warn(text, do string) { n.add(Warned, text, do) }
func (n *notes) fail(text, do string) { n.add(Failed, text, do) }

func (n *notes) add(s Status, text, do string) {
	n.found = append(n.found, Finding{n.check, s, text, do})
}

// refuse adds what is wrong as an error says it; do is for one that says
// nothing of what would be right.
func (n *notes) refuse(s Status, err error, do string) {
	first := fault.From(err)
	for _, e := range append([]*fault.Error{first}, first.More...) {
		one := *e
		one.More, one.Hint = nil, ""
		hint := e.Hint
		if hint == "" {
			hint = do
		}
		n.add(s, one.Error(), hint)
	}
}
