package simulation

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	ofExecution = loomv1.PauseScope_PAUSE_SCOPE_EXECUTION
	ofProcess   = loomv1.PauseScope_PAUSE_SCOPE_PROCESS
	ofProject   = loomv1.PauseScope_PAUSE_SCOPE_PROJECT
)

// steer has the CEO give an order, or somebody who is not.
func (w *world) steer() {
	if w.keyed && w.one(3) {
		w.changeKeys()
		return
	}
	x := w.someExecution()
	switch {
	case x == nil:
	case w.chance(ceoPauses):
		w.pauseOrResume(x)
	case w.chance(ceoMoves):
		n := x.def.Nodes[w.rng.IntN(len(x.def.Nodes))].Id
		if len(x.landed) > 0 {
			n = "land" // once more
		}
		w.order("move", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: x.id, Node: n, Reason: w.reason()}}})
	case w.chance(ceoCloses):
		w.order("close", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: x.id, Reason: w.reason(), Now: w.one(3)}}})
	case w.chance(ceoTakesLock):
		token := w.oracle.lock.newest
		w.order("release", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Release{Release: &loomv1.ReleaseCommitLock{Token: token, Reason: w.reason()}}})
	case w.chance(ceoDefines):
		d := drawn(w.rng.IntN(definitions/2)*2 + len(w.definition.Name)%2) // of the same name: "random" or "rich"
		if d.Name != w.definition.Name {
			d = w.definition
		}
		w.order("define", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: d, Reason: w.reason()}}})
	}
}

// someExecution prefers those that run.
func (w *world) someExecution() *execution {
	all := w.oracle.begun
	if len(all) == 0 {
		return nil
	}
	x := all[w.rng.IntN(len(all))]
	for range 4 {
		if !x.ended {
			break
		}
		x = all[w.rng.IntN(len(all))]
	}
	return x
}

func (w *world) reason() string {
	if w.chance(ceoIsForged) {
		return " " // which is none
	}
	return "because"
}

func (w *world) pauseOrResume(x *execution) {
	scope, name := ofExecution, x.id
	switch w.rng.IntN(4) {
	case 0:
		scope, name = ofProcess, x.def.Name
	case 1:
		scope, name = ofProject, ""
	}
	if list := w.oracle.pauses(); len(list) > 0 && w.one(2) {
		p := list[w.rng.IntN(len(list))]
		w.order("resume", resumes(p.scope, p.name, w.reason()))
		return
	}
	w.order("pause", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: scope, Name: name, Reason: w.reason()}}})
}

func resumes(scope loomv1.PauseScope, name, reason string) *loomv1.CeoCommand {
	return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: scope, Name: name, Reason: reason}}}
}

// order signs and presents a command, now and then twice, or again for another
// purpose, or as somebody else.
func (w *world) order(verb string, cmd *loomv1.CeoCommand) {
	w.complete(cmd, w.nonce())
	cmd.NotAfter = timestamppb.New(w.now.Add(5 * time.Minute))
	switch {
	case w.chance(ceoIsForged):
		w.forgeOrder(cmd)
		return
	case w.chance(ceoContradicts) && w.ceo.refused != nil:
		w.see("refused order presented again")
		w.presentOrder(verb, w.ceo.refused, loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
		return
	case w.chance(ceoContradicts) && w.ceo.nonces > 1:
		cmd.Nonce = fmt.Sprintf("n%d", 1+w.rng.IntN(w.ceo.nonces-1))
	}
	c := w.sign(w.signer(), cmd)
	w.presentOrder(verb, c, loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	if w.chance(ceoClicksTwice) {
		w.see("order twice")
		w.presentOrder(verb, c, loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	}
}

// forgeOrder gives an order that must not be taken.
func (w *world) forgeOrder(cmd *loomv1.CeoCommand) {
	switch w.rng.IntN(3) {
	case 0:
		w.presentOrder("", w.sign(forger, cmd), loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	case 1:
		w.presentOrder("", w.sign(ceoKey, cmd), loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, 0)
	default:
		cmd.NotAfter = cmd.IssuedAt
		w.presentOrder("", w.sign(ceoKey, cmd), loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	}
}

// presentOrder hands an order in, again and again until it is answered. One
// without a verb must be refused.
func (w *world) presentOrder(verb string, c *loomv1.SignedCommand, as loomv1.IdentityKind, tries int) {
	w.keeper.send(&loomv1.Command{Body: &loomv1.Command_Signed{Signed: c}}, identity(as, "ceo"), func(a *loomv1.Answer) {
		switch got := code(a); {
		case got == "lost" && (tries < 3 || w.calm):
			w.presentOrder(verb, c, as, tries+1)
		case got == "lost":
		case got == "approval/replayed" && w.ceo.taken[string(c.Signature)]:
			w.broken(7, "an order that was carried out is refused when it comes again")
		case got != "":
			w.see("order refused: " + got)
			if verb != "" && !slices.Contains([]string{"approval/replayed", "approval/expired", "approval/signature", "key/revoked"}, got) {
				w.ceo.refused = c
				w.oracle.refusedForGood(c)
			}
		case w.ceo.refused == c:
			w.broken(11, "an order to %s that was refused is carried out when it comes again", verb)
		case verb == "":
			w.broken(11, "an order that is not the CEO's is taken")
		default:
			w.ceo.taken[string(c.Signature)] = true
			w.see("order: " + verb)
		}
	})
}

// allBack has agents of every role on every host.
func (w *world) allBack() {
	for _, a := range w.agents {
		a.away = false
	}
	w.keeper.flush()
}

// operate has an operator change a bead or an execution.
func (w *world) operate() {
	if w.votes && w.one(3) {
		w.vote()
		return
	}
	beads := w.oracle.works
	if len(beads) == 0 {
		return
	}
	bead := beads[w.rng.IntN(len(beads))]
	switch {
	case w.chance(operatorChanges):
		w.change(bead)
	case w.chance(operatorCloses):
		w.operator(&loomv1.Command{Body: &loomv1.Command_CloseBead{CloseBead: &loomv1.CloseBead{Bead: bead, Reason: "by hand"}}}, "closed by hand")
	case w.chance(operatorReopens) && w.oracle.ended[bead]:
		w.reopen(bead)
	case w.chance(operatorForks) && len(beads) < 8:
		w.fork()
	}
}

func (w *world) operator(cmd *loomv1.Command, what string) {
	w.keeper.send(cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, "op"), func(a *loomv1.Answer) {
		switch c := code(a); c {
		case "lost":
		case "":
			w.see(what)
		default:
			w.see("operator refused: " + c)
		}
	})
}

func (w *world) change(bead string) {
	b := &loomv1.Bead{Id: bead, Priority: loomv1.Priority(1 + w.rng.IntN(3)), Budget: w.budget()}
	fields := []string{"priority"}
	switch w.rng.IntN(3) {
	case 0:
		fields = append(fields, "blocked_by")
		if w.one(2) {
			b.BlockedBy = []string{w.blocker(bead)}
		}
	case 1:
		fields = append(fields, "budget")
		if b.Budget == nil && w.one(2) {
			b.Deadline = timestamppb.New(w.now.Add(time.Duration(1+w.rng.IntN(30)) * time.Minute))
			fields = append(fields, "deadline")
		}
	}
	w.operator(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{Bead: b, Fields: fields, Reason: "so"}}}, "bead changed")
}

// blocker is any bead; often one that works for the bead that is to wait, which
// must be refused.
func (w *world) blocker(bead string) string {
	if x := w.oracle.worked[bead]; x != nil && len(x.children) > 0 && w.one(2) {
		return x.children[len(x.children)-1].bead
	}
	return w.oracle.works[w.rng.IntN(len(w.oracle.works))]
}

// reopen and fork carry a request, under which nothing happens twice.
func (w *world) reopen(bead string) {
	request := fmt.Sprintf("reopen-%s-%d", bead, w.rng.IntN(2))
	cmd := &loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: bead, Reason: "again", Request: request}}}
	w.operator(cmd, "bead reopened")
}

// forked is what a request made, and when.
type forked struct {
	bead string
	at   time.Time
}

func (w *world) fork() {
	x := w.someExecution()
	if x == nil {
		return
	}
	n := x.def.Nodes[w.rng.IntN(len(x.def.Nodes))].Id
	request := fmt.Sprintf("fork-%s-%s", x.id, n)
	at := w.now
	cmd := &loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Execution: x.id, Node: n, Reason: "what if", Request: request}}}
	w.keeper.send(cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, "op"), func(a *loomv1.Answer) {
		bead := a.GetSubmit().GetBead()
		switch {
		case a == nil:
		case a.Error != nil:
			w.see("fork refused: " + code(a))
		case w.forks[request].bead != "" && w.forks[request].bead != bead && at.Sub(w.forks[request].at) < remembered:
			w.broken(1, "fork %s made %s and makes %s when it is asked for again", request, w.forks[request].bead, bead)
		case w.forks[request].bead != bead:
			w.forks[request] = forked{bead, at}
		}
	})
}

// free ends what holds work: pauses, and links that no end of another bead will
// loosen.
func (w *world) free() {
	for _, p := range w.oracle.pauses() {
		w.order("resume", resumes(p.scope, p.name, "go on"))
	}
	for _, id := range w.oracle.works {
		if !w.oracle.ended[id] && slices.ContainsFunc(w.oracle.blockers[id], func(on string) bool { return w.oracle.ended[on] && !w.oracle.done[on] }) {
			w.operator(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{
				Bead: &loomv1.Bead{Id: id}, Fields: []string{"blocked_by"}, Reason: "it will not come",
			}}}, "freed by hand")
			return
		}
	}
}

// hurry gives work whose deadline the CEO has lifted another one, once, with
// half of the seeds.
func (w *world) hurry() {
	for _, x := range w.oracle.begun {
		if x.ended || x.hurried || x.lifted == nil || w.recipe.Seed%2 == 1 {
			continue
		}
		x.hurried = true
		w.operator(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{
			Bead: &loomv1.Bead{Id: x.bead, Deadline: timestamppb.New(w.now.Add(time.Minute))}, Fields: []string{"deadline"}, Reason: "now it is due",
		}}}, "deadline set after one was lifted")
	}
}

// roleGoes has a host lose its agents of a role, or get them back.
func (w *world) roleGoes() {
	if !w.reports || !w.chance(rolesGo) {
		return
	}
	a := w.agents[w.rng.IntN(len(w.agents))]
	away := !a.away
	for _, b := range w.agents {
		if b.role == a.role && (b.host == a.host || w.one(2)) {
			b.away = away
		}
	}
	w.reportRoles()
}

// reportRoles has every host say what agents it has, and now and then what it
// had in an earlier start.
func (w *world) reportRoles() {
	for _, h := range w.hosts {
		w.keeper.send(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: h.name, Roles: w.rolesOf(h)}}},
			identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, h.name), func(*loomv1.Answer) {})
		if w.chance(hostStartsAgain) && h.epoch > 1 {
			w.see("roles reported late")
			w.keeper.send(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: h.name, Roles: &loomv1.HostRoles{Epoch: h.epoch - 1}}}},
				identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, h.name), func(*loomv1.Answer) {})
		}
	}
}

func (w *world) rolesOf(h *host) *loomv1.HostRoles {
	roles := &loomv1.HostRoles{Epoch: h.epoch, Agents: map[string]uint32{}}
	for _, a := range w.agents {
		if a.host == h && !a.zombie && !a.away {
			roles.Agents[a.role]++
		}
	}
	return roles
}

// budget draws a bound, now and then.
func (w *world) budget() *loomv1.Budget {
	switch w.rng.IntN(4) {
	case 0:
		return &loomv1.Budget{Tokens: 300 + w.rng.Int64N(2000)}
	case 1:
		return &loomv1.Budget{WallSeconds: 60 + w.rng.Int64N(1200)}
	}
	return nil
}

// file has an agent file work of its own making.
func (a *agent) file() {
	cmd := &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
		Goal: "what I came across", Process: "child", IdempotencyKey: a.brief.Attempt.Id,
	}}}}
	a.w.keeper.send(cmd, a.identity, func(ans *loomv1.Answer) {
		if c := code(ans); c != "" {
			a.w.see("self-filed refused: " + c)
		} else {
			a.w.see("self-filed")
		}
	})
}
