package simulation

// sessionBugs are those of sessions of patterns.
var sessionBugs = []bug{
	{"work goes on while its session waits", whole + "pause.go", `|| s.sessionHolds(x) ||`, `||`, ""},
	{"who ends a step takes the next one before the session has heard", whole + "attempt.go", `	if err := d.catchUp(); err != nil { // what the outcome leads to: a session may stop here
		return nil, err
	}
`, ``, ""},
	{"an envelope of a revision supersedes nothing", sessions + "session.go", `s.replaces, s.envelope, s.seal, s.round = s.seal.Digest, nil,`, `s.replaces, s.envelope, s.seal, s.round = "", nil,`, ""},
	{"META validation passes whatever it finds", sessions + "prepare.go", `Passed: !Blocks(findings)`, `Passed: true`, ""},
	{"the draft of an abort is empty", sessions + "steering.go", `	if record.PartialOutputSaved {`, `	if false {`, ""},
	{"a draft is not there when the session is taken up", sessions + "session.go", `			if !f.Resumed.Rerun {
				s.outputs`, `			if false {
				s.outputs`, ""},
	{"memory has no record of an abort", whole + "ending.go", `	if r == nil {
		return nil
	}
	t := d.ownTurn()`, `	if r == nil || true {
		return nil
	}
	t := d.ownTurn()`, ""},
	{"a child does the work of a session", whole + "child.go", `case d.s.ofPattern(a.Process) != nil:`, `case false:`, ""},
	{"the CEO moves the work of a session", whole + "override.go", `	if d.s.sessionOf(x) != nil {`, `	if false {`, ""},
	{"a session that is over goes on with its work", whole + "steps.go", `case running(x) && (!goesOn(s) || !sealed):`, `case running(x) && !sealed && !running(x):`, ""},
	{"a session that stops stands in no inbox", whole + "session.go", `		if s.sessions[id].Waits() {`, `		if false {`, ""},
	{"what is held back for other sessions counts for nothing", whole + "activate.go", `id != session && most > 0`, `id == "" && most > 0`, ""},
	{"the operator's tempo counts for nothing", sessions + "tempo.go", `range []loomv1.Tempo{live, step.GetTempo(),`, `range []loomv1.Tempo{step.GetTempo(),`, ""},
	{"what the operator says reaches no step", whole + "stepbrief.go", `b.Run, b.Steering, b.Writes, b.Again, b.Within = run, on.Steered(run.Run),`, `b.Run, b.Steering, b.Writes, b.Again, b.Within = run, nil,`, ""},
}
