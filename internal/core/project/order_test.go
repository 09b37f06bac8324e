package project_test

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// order signs a command of the CEO's, after edit had its way with it.
func (d *desk) order(edit func(*loomv1.CeoCommand)) *loomv1.SignedCommand {
	d.t.Helper()
	d.nonce++
	cmd := &loomv1.CeoCommand{
		Deployment: "dp-1", Project: "shop", Nonce: fmt.Sprint("n", d.nonce),
		IssuedAt: timestamppb.New(d.now), NotAfter: timestamppb.New(d.now.Add(time.Minute)),
	}
	edit(cmd)
	payload, err := proto.Marshal(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	return &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(d.key, keyring.SignedBytes(payload))}
}

// give signs and presents a command, which must be accepted.
func (d *desk) give(edit func(*loomv1.CeoCommand)) {
	d.t.Helper()
	if err := d.present(ceo, d.order(edit)); err != nil {
		d.t.Fatalf("%v", err)
	}
}

func moves(execution, node, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: execution, Node: node, Reason: reason}}
	}
}

// closes closes at once, whoever is in the middle of what.
func closes(execution, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: execution, Reason: reason, Now: true}}
	}
}

func pauses(scope loomv1.PauseScope, name, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: scope, Name: name, Reason: reason}}
	}
}

func resumes(scope loomv1.PauseScope, name, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: scope, Name: name, Reason: reason}}
	}
}

func defines(def *loomv1.Definition, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: def, Reason: reason}}
	}
}

const (
	oneExecution = loomv1.PauseScope_PAUSE_SCOPE_EXECUTION
	oneProcess   = loomv1.PauseScope_PAUSE_SCOPE_PROCESS
	allWork      = loomv1.PauseScope_PAUSE_SCOPE_PROJECT
)

// line is a definition with one task after the other.
func line(name, version string, tasks ...*loomv1.NodeDefinition) *loomv1.Definition {
	def := &loomv1.Definition{Name: name, Version: version, Nodes: []*loomv1.NodeDefinition{{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}}}
	last := "start"
	for _, n := range append(tasks, &loomv1.NodeDefinition{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END}) {
		if n.Type == loomv1.NodeType_NODE_TYPE_UNSPECIFIED {
			n.Type = loomv1.NodeType_NODE_TYPE_TASK
		}
		def.Nodes = append(def.Nodes, n)
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: last + "-" + n.Id, From: last, To: n.Id})
		last = n.Id
	}
	return def
}

func task(id, role string) *loomv1.NodeDefinition { return &loomv1.NodeDefinition{Id: id, Role: role} }

// store has a host give a definition.
func (d *desk) store(def *loomv1.Definition) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
}

// file files a bead for a process.
func (d *desk) file(sub *loomv1.Submission) *loomv1.SubmitReply {
	d.t.Helper()
	if sub.Goal == "" {
		sub.Goal = "work"
	}
	who := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "me"}
	return d.ok(&loomv1.Command{Actor: who, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}}).GetSubmit()
}

func (d *desk) execution(id string) *loomv1.Execution {
	d.t.Helper()
	v, err := d.s.Look(project.Executions, &loomv1.Query{Id: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Executions[0]
}

// wait lets time pass, and fires what falls due meanwhile.
func (d *desk) wait(t time.Duration) {
	d.t.Helper()
	end := d.now.Add(t)
	for range 1000 {
		at, ok := d.s.Next()
		if !ok || at.After(end) {
			d.now = end
			return
		}
		if at.After(d.now) {
			d.now = at
		}
		d.tick()
	}
	d.t.Fatal("timers never come to rest")
}

func (d *desk) tick() {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
}

// since returns the facts that were added after n of them.
func (d *desk) since(n int) []*loomv1.Event { return d.events[n:] }

// verbs are one sound command of each kind about the execution x, which waits
// for an approval.
func (d *desk) verbs(x string) map[string]func(*loomv1.CeoCommand) {
	a := d.inbox()
	return map[string]func(*loomv1.CeoCommand){
		"decide": func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE}}
		},
		"move":       moves(x, "triage", "look again"),
		"close":      closes(x, "not worth it"),
		"pause":      pauses(allWork, "", "the office is closed"),
		"resume":     resumes(oneProcess, project.AutoBug, "go on"),
		"define":     defines(line("small", "1.0", task("only", "qa-engineer")), "we need less"),
		"release":    releases(1, "it hangs"),
		"enrol-key":  enrols("phone", make([]byte, ed25519.PublicKeySize)),
		"revoke-key": revokes("phone"),
		"abandon": func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Abandon{Abandon: &loomv1.AbandonDecision{Id: "d1", Reason: "it is not wanted any more"}}
		},
	}
}

func releases(token uint64, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Release{Release: &loomv1.ReleaseCommitLock{Token: token, Reason: reason}}
	}
}
