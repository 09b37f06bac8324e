package simulation

import "slices"

const (
	flow  = "internal/core/workflow/"
	whole = "internal/core/project/"
	locks = "internal/core/commitlock/"
	rings = "internal/core/keyring/keyring.go"

	sessions = "internal/core/intent/"
)

// bugs are those of the cores that stand by themselves; see also projectBugs and sessionBugs.
var bugs = slices.Concat([]bug{
	{"an attempt may be claimed that somebody holds", flow + "claim.go", `case a.Claimant != nil && !proto.Equal(a.Claimant, c):`, `case false:`, ""},
	{"any role may claim", flow + "claim.go", `case roleOf(c) != a.Role:`, `case false:`, ""},
	{"own work may be verified", flow + "claim.go", `case n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && r.madeBy(c):`, `case false:`, ""},
	{"a parked attempt may be held", flow + "claim.go", `case a.Parked != "":`, `case false:`, ""},
	{"a stale generation may be claimed", flow + "claim.go", `if a.Generation != generation {`, `if false {`, "there is one claimant at a time, and the newer assignment is refused"},
	{"who holds nothing may release", flow + "claim.go", `	case !proto.Equal(a.Claimant, c):
		return claimedBy(a)
	}
	return r.queueAnew(a, &loomv1.ClaimReleased{Reason: reason})`, `	}
	return r.queueAnew(a, &loomv1.ClaimReleased{Reason: reason})`, "the project refuses it before"},
	{"an answer may come twice", flow + "outcome.go", `		if proto.Equal(a.Claimant, c) && repeats(a.Outcome, out) {
			return nil
		}`, ``, ""},
	{"an equal answer of somebody else counts", flow + "outcome.go", `if proto.Equal(a.Claimant, c) && repeats(a.Outcome, out) {`, `if repeats(a.Outcome, out) {`, ""},
	{"an answer after the end counts", flow + "outcome.go", `		return stale(a)
	}
	if err := r.mayHold`, `		return nil
	}
	if err := r.mayHold`, ""},
	{"an answer that is refused claims all the same", whole + "attempt.go", `if err := d.outcome(c); err != nil || c.Next == nil {`, `if err := d.outcome(c); c.Next == nil {`, ""},
	{"a cycle more than there are attempts", flow + "outcome.go", `if st := r.state(n); st.Attempts < n.limit()+st.ExtraAttempts {`, `if st := r.state(n); st.Attempts <= n.limit()+st.ExtraAttempts {`, ""},
	{"cycles without bound", flow + "outcome.go", `if st := r.state(n); st.Attempts < n.limit()+st.ExtraAttempts {`, `if st := r.state(n); st != nil {`, ""},
	{"an attempt more than there are", flow + "judge.go", `st.Attempts < n.limit()+st.ExtraAttempts`, `st.Attempts <= n.limit()+st.ExtraAttempts`, ""},
	{"attempts that the CEO grants are forgotten", flow + "judge.go", `st.Attempts < n.limit()+st.ExtraAttempts`, `st.Attempts < n.limit()`, ""},
	{"rework without bound", flow + "failure.go", `if r.state(n).GetReworks() >= n.OnFailure.GetMax() {`, `if n.OnFailure.GetMax() == 0 {`, ""},
	{"rework is not counted", flow + "failure.go", `return r.rework(n, to, st.Reworks+1, told(out))`, `return r.rework(n, to, st.Reworks, told(out))`, ""},
	{"the end waits for what is detached", flow + "run.go", `	case n.Detached:
		return r.setAside(n)`, ``, ""},
	{"a way to what is detached is a way to an end", flow + "run.go", `return slices.ContainsFunc(edges, func(e *edge) bool { return !e.to.Detached })`, `return len(edges) > 0`, "the simulation of the workflow core alone looks whether an end was reached"},
	{"a start needs one edge only", flow + "run.go", `taken, settled = taken || t, settled && ok`, `taken, settled = taken || t, settled && ok || t`, ""},
	{"a dead node starts", flow + "run.go", `	case !taken:
		return false, r.skip(n)`, `	case false:
		return false, r.skip(n)`, ""},
	{"a gate is not read", flow + "run.go", `	case n.pass != nil && !r.state(n).GetGateWaived():`, `	case false:`, ""},
	{"a gate that the CEO waived is read again", flow + "run.go", `	case n.pass != nil && !r.state(n).GetGateWaived():`, `	case n.pass != nil:`, ""},
	{"a gate sends work back without bound", flow + "gate.go", `case action == gateReplans && used >= n.Gate.Max:`, `case false:`, ""},
	{"a gate that cannot be read is open", flow + "gate.go", `	if open {
		return true, false, nil
	}`, `	if open || unreadable != nil {
		return true, false, nil
	}`, ""},
	{"a gap is taken for success without a note", flow + "gate.go", `	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_GapNoted{GapNoted: &loomv1.GapNoted{Reason: why}}}); err != nil {
		return err
	}
`, ``, ""},
	{"work starts while it is halted", flow + "run.go", `return r.Held || holdsItself(r.X) || r.X.HaltedBy != "" || !running(r.X)`, `return r.Held || holdsItself(r.X) || !running(r.X)`, ""},
	{"a halt is never over", flow + "apply_steer.go", `	if halts {
		f.halt()
	}`, `	_ = halts`, ""},
	{"a failed check counts as passed", flow + "evidence.go", `if !c.Passed {`, `if false {`, ""},
	{"a check of another commit counts", flow + "evidence.go", `if c.GetCommand() != command || c.GetCommit() != commit {`, `if c.GetCommand() != command {`, ""},
	{"no check is required", flow + "evidence.go", `	for _, command := range r.X.Checks {`, `	for _, command := range r.X.Checks[:0] {`, ""},
	{"a commit of another patch counts", flow + "evidence.go", `	case c.PatchDigest:
		return r.gated()
	}`, `	case c.PatchDigest:
		return r.gated()
	}
	return nil`, ""},
	{"landing needs no candidate", flow + "evidence.go", `if commit == "" || l.GetCommit() != commit && !r.rode(l.GetCommit()) {`, `if false {`, ""},
	{"landing needs no verification", flow + "evidence.go", `if m.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && n.follows(m) && !r.vouches(m, commit) {`, `if false {`, "the start rule: land follows verify, which is never skipped"},
	{"success without evidence is taken", flow + "evidence.go", `	if err == nil {
		return out
	}
	out = proto.CloneOf(out)`, `	if err == nil || err != nil {
		return out
	}
	out = proto.CloneOf(out)`, ""},
	{"a changed patch keeps its approval", flow + "evidence.go", `if r.X.Approved != nil && r.X.Approved.PatchDigest != c.PatchDigest {`, `if false {`, ""},
	{"questions about an old patch stay open", flow + "evidence.go", `	return r.askAgain(why)`, `	return nil`, ""},
	{"a candidate outlives its patch", flow + "apply_attempt.go", `	if c.GetPatchDigest() != f.x.Change.GetPatchDigest() {
		f.x.Candidate, f.x.Car = nil, nil
	}`, ``, "a commit comes before it is verified again"},
	{"a landing is recorded again", flow + "evidence.go", `r.X.Landing.GetCommit() == out.Landing.Commit:`, `false:`, ""},
	{"the end leaves attempts open", flow + "run.go", `	if err := r.withdrawAll("the execution ended"); err != nil {
		return err
	}
`, ``, ""},
	{"rework leaves attempts open", flow + "rework.go", `	if err := r.withdraw(part, "the work goes back to "+to.Id); err != nil {
		return err
	}
`, ``, ""},
	{"rework keeps the approval", flow + "rework.go", `if r.X.Approved != nil && slices.ContainsFunc(part, (*node).isApproval) {`, `if r.X.Approved != nil && slices.ContainsFunc(part, (*node).isEnd) && len(part) > 99 {`, ""},
	{"rework resets nothing behind its target", flow + "rework.go", `if n.follows(to) && r.state(n).GetStatus() != unreached {`, `if false {`, ""},
	{"a visit begins with the attempts of the last", flow + "apply.go", `&loomv1.NodeState{Visit: st.Visit + 1, Reworks: st.Reworks,`, `&loomv1.NodeState{Visit: st.Visit + 1, Attempts: st.Attempts, Reworks: st.Reworks,`, ""},
	{"a timeout is tried again", flow + "failure.go", `	if again, err := r.judgeAgain(n); again || err != nil {
		return err
	}
	return r.giveUp(n, TimedOut, why)`, `	if n.isTask() {
		return r.backOff(n)
	}
	return r.giveUp(n, TimedOut, why)`, ""},
	{"time in the queue counts", flow + "claim.go", `		return a.Deadline.AsTime().Add(max(r.Now.Sub(queuedAt(a)), 0))`, `		return a.Deadline.AsTime()`, ""},
	{"time begins anew with each claim", flow + "claim.go", `	case a.Deadline != nil:`, `	case false:`, ""},
	{"a deadline passes while its attempt is queued", flow + "view.go", `	case isQueued(st.GetAttempt()): // its`, `	case false: // its`, ""},
	{"a deadline never passes", flow + "view.go", `	case st.GetAttempt().GetDeadline() != nil:`, `	case false:`, ""},
	{"a backoff never ends", flow + "view.go", `		return st.RetryAt.AsTime(), x.HaltedBy == ""`, `		return st.RetryAt.AsTime(), false`, ""},
	{"a released attempt keeps its generation", flow + "claim.go", `why.Generation = a.Generation + 1`, `why.Generation = a.Generation`, ""},
	{"an exhausted node is retried for ever", flow + "failure.go", `	return r.exhausted(n, told(out))
}`, `	return r.backOff(n)
}`, ""},
	{"the CEO's answer is not followed", flow + "approval.go", `	if err := r.carryOut(n, a, d); err != nil || !running(r.X) {`, `	if err := r.override(n); err != nil || !running(r.X) {`, ""},
	{"the CEO may skip a commit", flow + "approval.go", `	case d.Decision == retry || r.indispensable(n):`, `	case d.Decision == retry:`, ""},
	{"the digest leaves the patch out", flow + "digest.go", `"overlaps": true, "signed": true,`, `"overlaps": true, "signed": true, "change": true,`, "an approval's own id is part of the digest, and another patch is asked about under another id"},
	{"conditions are not read", flow + "input.go", `	return when.Holds(in)`, `	return true, nil`, ""},
	{"edges out of a dead node stay open", flow + "run.go", `	return r.settle(n, taken, label)
}

// dispatch`, `	return nil
}

// dispatch`, ""},
	{"a plan may change what has begun", flow + "plan.go", `case begun && id != planner.Id && (`, `case false && begun && (`, "what has begun is not taken from a plan in the first place"},
	{"edges begin anew with a plan", flow + "plan.go", `			return t, is
`, `			return t, is && false
`, ""},
	{"what is new in a plan follows from nothing", flow + "plan.go", `return st.GetStatus() == succeeded || led, isSettled(st)`, `return false, isSettled(st)`, ""},
	{"an unsound plan is taken for none", flow + "plan.go", `		return r, n, unsound(out, bad), nil`, `		return r, n, out, nil`, ""},
	{"an unsound plan that comes again is refused", flow + "outcome.go", `	if wasUnsound(recorded, given) {`, `	if false {`, ""},
	{"what was done is done again when it is planned anew", flow + "plan.go", `	if !to.plans() {
		return part`, `	if to != nil {
		return part`, ""},
	{"who asks for another plan waits for ever", flow + "plan.go", `return n != to && n != from && !slices`, `return n != to && !slices`, ""},
	{"work begins while it is planned anew", flow + "plan.go", `			return !isSettled(r.state(m))`, `			return false`, ""},
	{"a plan is adopted, and nobody goes by it", flow + "plan.go", `	f.x.DefinitionHash, f.x.Edges = p.Hash, maps.Clone(p.Edges)`, `	f.x.Edges = maps.Clone(p.Edges)`, ""},
	{"what has begun is planned again", "processes/plan.go", `if ph := p.now.Phases[i]; p.begun(ph.ID) {`, `if ph := p.now.Phases[i]; false {`, ""},
	{"mail is heard twice", "internal/core/turn/between.go", `			return false, refuse("hear", "message %q has been heard already, otherwise", s.Id)
		}
		return true, nil`, `			return false, refuse("hear", "message %q has been heard already, otherwise", s.Id)
		}
		return false, nil`, ""},
	{"mail goes to another team", whole + "mail.go", `	for _, m := range s.members(s.top(x)) {
		of, _ := s.attempt(m.Id)
		if m.Id == a.Id {`, `	var all []*loomv1.Attempt
	for _, other := range s.running() {
		if other.Parent == "" {
			all = append(all, s.members(other)...)
		}
	}
	for _, m := range all {
		of, _ := s.attempt(m.Id)
		if m.Id == a.Id {`, ""},
	{"who asked one that has ended waits for ever", whole + "mail.go", `	open := team.AskedOf(d.s.mail(x), e.Attempt)`, `	open := team.AskedOf(d.s.mail(x), e.Attempt)[:0]`, ""},
	{"two may wait for each other", whole + "mail.go", `case w.Ask && s.reaches(s.answerers(m), a.Id):`, `case false:`, ""},
	{"what one that waits for tasks has asked is forgotten", whole + "mail.go", `case w.Ask && s.reaches(s.answerers(m), a.Id):`, `case w.Ask && m.Parked != workflow.WaitsForTeam && s.reaches(s.answerers(m), a.Id):`, ""},
	{"one waits for tasks of those who wait for it", whole + "mail.go", `		if s.reaches([]*loomv1.Attempt{b}, a.Id) {`, `		if false {`, ""},
	{"who waits for tasks is not told that it is asked", whole + "mail.go", `d.later(func() error { return d.wake(asked, waitsFor) })`, `_, _ = asked, waitsFor`, ""},
	{"a question waits without an end", whole + "mail.go", `		if d.now.Before(q.Until.AsTime()) {`, `		if true {`, ""},
	{"nobody is woken for a question whose time is over", whole + "mail.go", `if due := q.Until.AsTime(); !ok || due.Before(at) {`, `if due := q.Until.AsTime(); false {`, ""},
	{"a hold takes of the time to answer", "internal/core/team/mail.go", `		if to.After(since) {`, `		if false {`, ""},
	{"a question may be answered twice", whole + "mail.go", `	case q.Answer != nil:
		return nil, fault.New`, `	case false:
		return nil, fault.New`, ""},
	{"who asked goes on with its first answer", whole + "mail.go", `			if len(team.Asked(d.s.mail(x), m.To)) > 0 {`, `			if false {`, ""},
	{"a record of a life is journaled again", whole + "staffing.go", `m.GetEpoch() > c.Epoch || m.GetEpoch() == c.Epoch && m.GetSequence() >= r.Life.Sequence {`, `m.GetEpoch() > c.Epoch {`, ""},
	{"a late record of an earlier start is journaled", whole + "staffing.go", `m.GetEpoch() > c.Epoch || m.GetEpoch() == c.Epoch && m.GetSequence() >= r.Life.Sequence {`, `m.GetEpoch() == c.Epoch && m.GetSequence() >= r.Life.Sequence {`, ""},
	{"a new start of a host is not heard", whole + "staffing.go", `m.GetEpoch() > c.Epoch || m.GetEpoch() == c.Epoch && m.GetSequence() >= r.Life.Sequence {`, `m.GetSequence() >= r.Life.Sequence {`, ""},
	{"a vote that comes twice decides as the lead", "graph/ballot.go", `if !anew || cmd.Request != "" && cmd.Request == was.Request {`, `if !anew {`, ""},
	{"all have voted and the vote is open", "graph/ballot.go", `	if missing == 0 {
		return true
	}
	first, second := ranking(b)`, `	first, second := ranking(b)`, ""},
	{"a vote is closed though it is open", "graph/ballot.go", `wins := total >= int(b.Quorum) && 2*first.votes > total+missing`, `wins := total >= int(b.Quorum) && 2*first.votes > total`, ""},
	{"a call gives its task again", whole + "team.go", `if has := given(a, call); has != nil {`, `if has := given(a, call); false {`, ""},
	{"tasks have no bound in depth", "internal/core/team/team.go", `	case p.Depth >= MaxDepth:`, `	case false:`, ""},
	{"tasks have no bound in number", "internal/core/team/team.go", `	case p.Given >= MaxTasks:`, `	case false:`, ""},
	{"one's own work may be given away", "internal/core/team/team.go", `if j.Role == t.GetRole() && same(`, `if false && same(`, ""},
	{"a task may spend more than its giver", "internal/core/team/team.go", `	if left > 0 && asked > left {`, `	if false {`, ""},
	{"the end of a task is not told", whole + "child.go", `		return d.endTask(child)`, `		return nil`, ""},
	{"the end of a task that is stopped is not told", whole + "team.go", `	if err := d.run(x).CloseNow(why); err != nil {
		return err
	}
	return d.endTask(x)`, `	if err := d.run(x).CloseNow(why); err != nil {
		return err
	}
	return nil`, "it is told as every end is, a little later"},
	{"who gave tasks goes on after the first", flow + "team.go", `if a.Parked != WaitsForTeam || len(team.Open(a.Tasks, a.Awaits)) > 0 {`, `if a.Parked != WaitsForTeam {`, ""},
	{"who gave tasks never goes on", flow + "team.go", `if a.Parked != WaitsForTeam || len(team.Open(a.Tasks, a.Awaits)) > 0 {`, `if a.Parked != "" {`, ""},
	{"a task that failed is told as done", whole + "team.go", `	if did.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return out
	}
	out.Status, out.Code = did.Status, ""`, `	out.Status, out.Code = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, ""`, ""},
	{"tasks outlive who gave them", whole + "team.go", `		list = append(list, s.execution(t.Execution))`, `		_ = t`, ""},
	{"what works for what has ended goes on", whole + "child.go", `	return !worksFor(x, a)`, `	return !worksFor(x, a) && x == nil`, ""},
	{"tasks that are given while all is held begin", whole + "team.go", `	case d.s.held(x):
		return nil, paused(c.Attempt, x)`, `	case false:
		return nil, paused(c.Attempt, x)`, ""},
	{"evidence of a train is not looked at", flow + "train.go", `		if err := r.passed(c); err != nil {`, `		if err := r.passed(c); false {`, ""},
	{"who rode on a train waits for its turn", whole + "train.go", `	return d.landedWith(l, func(y *loomv1.Execution) bool { return y.Id != x.Id && y.Car.GetToken() == x.Car.Token })`, `	return nil`, ""},
	{"those ride together who touch the same", "internal/core/train/compose.go", `!taken.any(c.Files)`, `true`, ""},
	{"a train is longer than it may be", whole + "train.go", `train.Compose(cars, most)`, `train.Compose(cars, most+1)`, ""},
	{"who was refused by a train rides again", flow + "train.go", `	if RefusedByTrain(r.X) {`, `	if false {`, ""},
	{"nobody is told of trains whose drivers died", whole + "train.go", `		if x := d.s.execution(id); d.waitsForTrain(x, claim.Request) {`, `		if x := d.s.execution(id); x == nil {`, ""},
	{"a place in a train has the token of another", locks + "token.go", `		c.Token = Token(epoch, e.Number)`, `		c.Token = Token(epoch, e.Number-1)`, ""},
	{"the lock never lapses", locks + "decide.go", `	if !lapsed(p.lock, p.now) {
		return false
	}`, `	if true {
		return false
	}`, ""},
	{"a lapsed token is renewed", locks + "decide.go", `	if !holds(l, token) || lapsed(l, now) {
		return nil, stale(repository, l, token, now)
	}
	until`, `	if !holds(l, token) {
		return nil, stale(repository, l, token, now)
	}
	until`, ""},
	{"any token may renew", locks + "decide.go", `	if !holds(l, token) || lapsed(l, now) {
		return nil, stale(repository, l, token, now)
	}
	until`, `	if l.GetHolder() == nil || lapsed(l, now) {
		return nil, stale(repository, l, token, now)
	}
	until`, ""},
	{"a renewal shortens the grant", locks + "decide.go", `	if !until.After(l.Holder.Until.AsTime()) {
		return nil, nil
	}`, ``, "the lease is the same, and time does not run backwards"},
	{"any token may release", locks + "decide.go", `if l := t.locks[repository]; !holds(l, token) {`, `if l := t.locks[repository]; l.GetHolder() == nil {`, ""},
	{"the lock is granted to the last", locks + "decide.go", `first := p.lock.Queue[0].Request`, `first := p.lock.Queue[len(p.lock.Queue)-1].Request`, ""},
	{"the lock is granted though it is held", locks + "decide.go", `	if p.lock.Holder == nil {
		p.emit(`, `	if true {
		p.emit(`, ""},
	{"the next agent of an attempt gets the old token", locks + "decide.go", `if known := newest(p.lock, cmd.Request); known != nil && proto.Equal(known.Holder, cmd.Holder) {`, `if known := newest(p.lock, cmd.Request); known != nil {`, ""},
	{"asking again is a place more", locks + "decide.go", `if known := newest(p.lock, cmd.Request); known != nil && proto.Equal(known.Holder, cmd.Holder) {`, `if known := newest(p.lock, cmd.Request); known != nil && known == nil {`, ""},
	{"nobody is granted what was released", locks + "decide.go", `	if !p.lapse() {
		p.release()
	}
	return p.settle(), nil
}

// Couple`, `	if !p.lapse() {
		p.release()
	}
	return p.events, nil
}

// Couple`, "the next tick grants it"},
	{"an answer of a model is recorded again", "internal/core/turn/decide.go", `	if old := answerTo(t, a.Request); old != nil {`, `	if old := answerTo(t, a.Request); old != nil && false {`, ""},
	{"git knows no fence", "test/simulation/git_test.go", `	if token != g.fence {`, `	if false {`, ""},
	{"git lets older tokens raise", "test/simulation/git_test.go", `	if token < g.fence {`, `	if false {`, ""},
}, projectBugs, sessionBugs)

// projectBugs are those of what composes the cores.
var projectBugs = []bug{
	{"what is left for after the end is forgotten", whole + "detached.go", `	d.later(func() error { return d.beginAfter(x, part) })`, `	d.later(func() error { return nil })`, ""},
	{"what is left for after the end is done after any end", whole + "detached.go", `part == nil || !workflow.Delivered(e.GetExecutionEnded().GetStatus())`, `part == nil`, ""},
	{"digest not checked", whole + "approval.go", `if subtle.ConstantTimeCompare([]byte(a.Digest), []byte(v.Digest)) != 1 {`, `if subtle.ConstantTimeCompare([]byte(a.Digest), []byte(v.Digest)) == 7 {`, ""},
	{"signature not checked", rings, `len(k.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(k.PublicKey, SignedBytes(c.GetPayload()), c.GetSignature()), nil`, `len(k.PublicKey) == ed25519.PublicKeySize, nil`, ""},
	{"what a revoked key signs is taken", rings, `		case k.RevokedAt != nil:
			return nil, fault.New("key/revoked"`, `		case false:
			return nil, fault.New("key/revoked"`, ""},
	{"a key revokes itself", rings, `	case name == by:`, `	case false:`, ""},
	{"one key changes a set of three", rings, `	if len(r.live()) >= Guarded {`, `	if len(r.live()) >= 100*Guarded {`, ""},
	{"one key twice changes a set of three", rings, `		case r.Pending()[i].By == by: // twice by one is once
			return nil, nil
`, ``, ""},
	{"one key is two of N", whole + "keys.go", `if o.Key != d.signer.Name && d.s.ring.Holds(o.Key)`, `if d.s.ring.Holds(o.Key)`, ""},
	{"a revoked key is one of N", whole + "keys.go", `d.s.ring.Holds(o.Key) && o.Decision`, `o.Decision`, ""},
	{"an agent may present what the CEO signed", whole + "approval.go", `if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {`, `if false {`, ""},
	{"an expired command is taken", whole + "approval.go", `!d.wall.Before(asTime(cmd.NotAfter)) {`, `false {`, ""},
	{"a command of another deployment is taken", whole + "approval.go", `if cmd.Deployment != d.s.cfg.Deployment || cmd.Project != d.s.cfg.ID {`, `if false {`, ""},
	{"nonces of answers are not looked at", whole + "approval.go", `switch used, err := d.usedBefore(signed, nonceOf(signed)); {`, `switch used, err := false, error(nil); {`, ""},
	{"nonces of orders are not looked at", whole + "override.go", `	case d.s.p.Nonces[nonce]:
		return false, fault`, `	case false:
		return false, fault`, ""},
	{"an order that comes twice is done twice", whole + "override.go", `	case d.s.p.Nonces[spent(c, nonce)]:
		return true, nil
`, ``, ""},
	{"a refused order may come again", whole + "override.go", `	if was := d.s.p.Refused[key]; was != nil {`, `	if was := d.s.p.Refused[key]; was != nil && false {`, "its nonce is used up, so that it is refused all the same"},
	{"a refused order uses nothing up", whole + "override.go", `	if !usable(cmd.Nonce) || d.s.p.Nonces[cmd.Nonce] {
		key = ""
	}`, `	key = ""`, ""},
	{"a deadline that is set later does not count", whole + "limit.go", `if x.DeadlineWaived || end.Equal(asTime(x.LiftedDeadline)) {`, `if x.DeadlineWaived || x.LiftedDeadline != nil {`, ""},
	{"who answers about one limit is not asked about the next", whole + "limit.go", `	return d.askLimit(x)
}

func (d *decision) emitLift`, `	return nil
}

func (d *decision) emitLift`, ""},
	{"a lowered budget is not asked about", whole + "update.go", `	if x := d.s.execution(b.Execution); x != nil { // it may be`, `	if x := d.s.execution(b.Execution); false { // it may be`, ""},
	{"a move ends the question about a limit", flow + "move.go", `	if err := r.withdraw(r.Def.order, words); err != nil {`, `	if err := r.withdrawAll(words); err != nil {`, ""},
	{"an order needs no reason", whole + "override.go", `	case strings.TrimSpace(reason) == "":`, `	case false:`, ""},
	{"an order is not recorded", whole + "override.go", `	d.preface = nil
	return d.emit(p)`, `	d.preface = nil
	return nil`, ""},
	{"a decided approval may be decided again", whole + "approval.go", `if a.Decision != loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED {`, `if false {`, "its bead is closed: the answer is refused as lapsed"},
	{"a lapsed approval may be decided", whole + "approval.go", `if ended(d.s.bead(a.Id).GetStatus()) {`, `if false {`, ""},
	{"a grant does not unpark", whole + "reactions.go", `		atOnce("lock", "the attempt that waited goes on, or the next one is granted", (*decision).followGrant, of[*loomv1.Event_LockGranted]()),`, ``, ""},
	{"parking misses a grant", whole + "attempt.go", `!ok || claim.Token != 0 {
		return d.run(x).Unpark(c.Attempt)`, `!ok || claim.Token == 1 {
		return d.run(x).Unpark(c.Attempt)`, ""},
	{"an ended attempt keeps the lock", whole + "reactions.go", `		atOnce("lock", "the attempt's place or grant is given back", (*decision).freeLock, of[*loomv1.Event_AttemptEnded]()),`, ``, ""},
	{"a held execution keeps the lock that others want", whole + "follow.go", `idle := parked && d.s.held(x) && d.s.lockWanted(d.repository())`, `idle := parked && false`, "the lease lapses"},
	{"a request is not known again", whole + "submit.go", `if key == "" || !ok || d.now.Sub(r.Time.AsTime()) >= rememberFor {`, `if true || !ok {`, ""},
	{"requests are remembered for an hour", whole + "apply.go", `const rememberFor = 24 * time.Hour`, `const rememberFor = time.Hour`, ""},
	{"a decision request is not known again", whole + "attempt.go", `if r, ok := d.s.p.Requests[key]; ok && key != "" {`, `if r, ok := d.s.p.Requests[key]; ok && key == "x" {`, ""},
	{"fingerprints are lost with a snapshot", whole + "state.go", `		if b.Fingerprint != "" && !ended(b.Status) {
			s.prints[b.Fingerprint] = id
		}`, `		_, _ = id, b`, ""},
	{"a record that changed is taken for the one in a segment", whole + "shelf.go", `!kept || at.digest != digestOf(data)`, `!kept || at.digest == 0`, ""},
	{"the older of two segments counts", whole + "segment.go", `if s.p.Beads[e.Id] == nil && s.shelf.own[e.Id] == nil {`, `if s.p.Beads[e.Id] == nil && entries[e.Id] == nil {`, ""},
	{"an ended bug is still reported on", whole + "apply.go", `		delete(s.prints, b.Fingerprint)`, `		_ = s.prints`, ""},
	{"a bead keeps waiting", whole + "follow.go", `	return d.restate(a.Bead)
}

func (d *decision) followChange`, `	return nil
}

func (d *decision) followChange`, ""},
	{"an execution ends and its bead does not", whole + "follow.go", `	return d.beadEnded(e.Bead, status, f.Reason, len(d.s.execution(e.Execution).GetGaps()))
}`, `	_ = status
	return nil
}`, ""},
	{"a host's start releases nothing", whole + "claim.go", `		if by.host == host && by.epoch < epoch {`, `		if by.host == host && by.epoch < epoch && host == "" {`, ""},
	{"a host's start releases what is new", whole + "claim.go", `		if by.host == host && by.epoch < epoch {`, `		if by.host == host && by.epoch <= epoch {`, ""},
	{"an agent is not given again what it holds", whole + "claim.go", `		if _, a := d.s.attempt(id); a.Role == role {`, `		if _, a := d.s.attempt(id); a.Role == role && false {`, ""},
	{"what waits is not offered", whole + "tickets.go", `		if missing <= 0 {`, `		if missing <= 1 {`, ""},
	{"what is held may be claimed", whole + "queue.go", `	if !s.held(x) {
		for`, `	if true {
		for`, ""},
	{"a turn goes on while it is held", whole + "attempt.go", `	if d.s.held(x) && slices.ContainsFunc(events, begins) {`, `	if false {`, ""},
	{"a pause of the project is not one of its executions", whole + "pause.go", `	return p.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROJECT || p.Name == x.Definition`, `	return p.Name == x.Definition`, ""},
	{"a pause of a process is not one of its executions", whole + "pause.go", `	return p.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROJECT || p.Name == x.Definition`, `	return p.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROJECT`, ""},
	{"a child goes on while its parent is held", whole + "pause.go", `x.Parent != "" && (s.orphaned(x) || s.held(s.execution(x.Parent)))`, `x.Parent != "" && s.orphaned(x)`, ""},
	{"what closes does not wait for the step", whole + "close.go", `	return workflow.InStep(x) ||`, `	return false ||`, ""},
	{"what closes does not wait for its children's steps", whole + "close.go", `return running(c) && s.inStep(c)`, `return false`, ""},
	{"an agent that gives up its step leaves what closes open", whole + "reactions.go", `of[*loomv1.Event_ExecutionClosing](), of[*loomv1.Event_AttemptParked](), of[*loomv1.Event_ClaimReleased](), of[*loomv1.Event_AttemptEnded]()),`, `of[*loomv1.Event_ExecutionClosing](), of[*loomv1.Event_AttemptParked](), of[*loomv1.Event_AttemptEnded]()),`, ""},
	{"work begins while it closes", whole + "pause.go", `x.Paused != nil || x.Closing != nil ||`, `x.Paused != nil ||`, ""},
	{"nobody goes on after a hold", whole + "pause.go", `		s.timers.kick(x.Id)`, `		_ = x.Id`, ""},
	{"a hold moves no deadline", whole + "pause.go", `		workflow.Shift(x, since, now)`, `		workflow.Shift(x, since, since)`, ""},
	{"blocked work is begun", whole + "bead.go", `		case on.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_CLOSED:`, `		case on != nil:`, ""},
	{"what failed frees what waits for it", whole + "bead.go", `		case on.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_CLOSED:`, `		case ended(on.GetStatus()):`, ""},
	{"beads may wait for each other", whole + "link.go", `		} else if way := d.s.way(id, b.Id); way != nil {`, `		} else if way := d.s.way(id, b.Id); way != nil && false {`, ""},
	{"a bead may wait for what is held with it", whole + "link.go", `		if slices.Contains(s.masters(at), to) {
			came[to], at = at, to
		}
`, ``, ""},
	{"a budget that is used up is not asked about", whole + "reactions.go", `(*decision).followAnswer,
			of[*loomv1.Event_ModelAnswered](), `, `(*decision).followAnswer,
			`, ""},
	{"children spend nothing", whole + "limit.go", `		used = used.plus(s.spentBy(c))`, `		_ = c`, ""},
	{"a limit is not lifted", whole + "limit.go", `	return d.emit(&loomv1.Event{Fact: &loomv1.Event_LimitLifted{LimitLifted: lifted}})`, `	_ = lifted
	return nil`, ""},
	{"a limit of time is never reached", whole + "timers.go", `	if limit, any := s.limitAt(x); any && (!ok || limit.Before(at)) {`, `	if limit, any := s.limitAt(x); any && false {`, ""},
	{"a limit is asked about while it is asked about", flow + "limit.go", `	if r.X.LimitApproval != "" {
		return nil
	}
	a.Id,`, `	a.Id,`, "the project looks before it asks"},
	{"what was not shown is granted", whole + "limit.go", `		lifted = &loomv1.LimitLifted{Granted: a.Grants}`, `		lifted = &loomv1.LimitLifted{Granted: d.grants(x, a)}`, "while it is asked about, another question takes its place when another figure would"},
	{"a child is not linked with its attempt", whole + "child.go", `	if err := d.run(x).ChildStarted(a.Id, b.Id, b.Id+"-x1"); err != nil {`, `	if err := error(nil); err != nil {`, ""},
	{"a child's end is not told", whole + "child.go", `		d.later(func() error { return d.endChild(x) })`, `		_ = x`, ""},
	{"a child that fails is taken for done", whole + "child.go", `	if !workflow.Delivered(child.Status) {`, `	if false {`, ""},
	{"a child lands what another is to land", whole + "child.go", `if workflow.Nested(x) || d.run(x).LandsAfter(a.Node) {`, `if workflow.Nested(x) {`, ""},
	{"children outlive their parent", whole + "child.go", `			d.later(func() error { return d.abandon(c.Id) })`, `			_ = c`, ""},
	{"nesting has no end", whole + "child.go", `	case x.Depth >= MaxNested:`, `	case false:`, ""},
	{"nobody is told that no agent is there", whole + "roles.go", `	if s.p.RolesSince == nil || s.live(role) {`, `	if s.p.Config != nil {`, ""},
	{"a role that is there counts as absent", whole + "roles.go", `	if s.p.RolesSince == nil || s.live(role) {`, `	if s.p.RolesSince == nil {`, ""},
	{"what a host said earlier counts", whole + "roles.go", `	if old != nil && (c.Roles.Epoch < old.Epoch || proto.Equal(old, c.Roles)) {`, `	if old != nil && proto.Equal(old, c.Roles) {`, ""},
	{"a fork inherits the candidate", flow + "fork.go", `	x.Checks = required(x)
`, `	x.Checks, x.Candidate = required(x), proto.CloneOf(k.of.Candidate)
`, ""},
	{"a fork inherits the approval", flow + "fork.go", `	x.Checks = required(x)
`, `	x.Checks, x.Approved = required(x), proto.CloneOf(k.of.Approved)
`, ""},
	{"the governor counts nothing", whole + "governor.go", `			g.Reported++`, `			_ = g`, ""},
	{"the governor's window is never over", whole + "governor.go", `!d.now.Before(d.s.windowEnd()) {`, `false {`, ""},
	{"a bead that has ended is not reopened", whole + "update.go", `		err = d.settle(b.Id)
	}
	if err != nil {
		return nil, err
	}
	execution := ""`, `		err = nil
	}
	execution := ""`, "the next tick settles it"},
	{"anybody may change a bead", whole + "update.go", `	return fault.New("request/denied"`, `	return nil
	return fault.New("request/denied"`, "only operators try to"},
	{"a bead that is worked on may be closed", whole + "update.go", `	case d.s.open[b.Execution]:`, `	case false:`, ""},
	{"timers are lost with a snapshot", whole + "state.go", `		if s.rearm(x); !s.held(x) {
			s.timers.kick(id)
		}`, `		_ = x`, ""},
	{"a move leaves attempts open", flow + "move.go", `	if err := r.withdraw(r.Def.order, words); err != nil {
		return err
	}
`, ``, ""},
	{"a move keeps the approval of what begins anew", flow + "move.go", `	if r.X.Approved != nil && slices.ContainsFunc(part, (*node).isApproval) {`, `	if false {`, ""},
	{"an edge may close a circle", "graph/decide.go", `		return g.cycle(where, t, g.node(at.from).Id, way)`, `		return nil`, ""},
}
