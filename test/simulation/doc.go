// Package simulation runs the real cores of a project, package project and all
// that it composes, in a simulated world where everything goes wrong: a keeper
// whose appends are lost, whose acknowledgements are lost, who dies before and
// after an append; a work queue that loses, doubles, delays and re-orders;
// agents that fail, lie, die, sleep past deadlines and leases, wake with stale
// claims and tokens, make plans that nobody can carry out, give work to each
// other and ask what a session is for; a target branch that moves; a CEO who is slow,
// clicks twice, contradicts herself, pauses, moves, closes and redefines, and
// forgers; operators that link, close, reopen and fork, open sessions of patterns, steer, revise and
// abort them, and try to go around their primacy; roles whose agents go;
// publishers that repeat themselves; hosts that start again; time that jumps.
//
// A run is a seed. It draws which kinds of trouble there are, half of them on
// average, and how often each comes; every step then draws from a source of its
// own, in one goroutine. So a failing seed always fails, and goes on failing
// when kinds of trouble are switched off and steps left out: that is how it is
// made smaller, before it is kept in corpus/, which every test run repeats.
//
//	go test ./test/simulation -run Simulation -args -seed N -trace
//	go test ./test/simulation -run Simulation -args -trace -replay corpus/FILE
//	go test ./test/simulation -run Simulation -v -timeout 0 -args -for 8h
//
// After the faults comes a phase without any, in which everything must end.
// One run in 32 is careful: every event goes over the wire, a second host
// follows, and whole states are compared.
//
// It is the one simulation of the cores, over all of them: a second one, of
// fewer, would have a world of its own to keep true. The same oracle also reads
// the journals of the real actors, which run over fakes in bubbles of time
// (shells_test.go).
//
// # What is checked
//
// After every event of the journal, by an oracle that knows nothing but events.
// A failure names the number of what it breaks:
//
//   - 1 a submission that was acknowledged has one bead and one execution at a
//     time, and a repeated one is answered as the first;
//   - 2 nothing is about what does not exist;
//   - 3, 4 another host's fold, a replay from nothing and one from a snapshot
//     are the live state;
//   - 5, 6 attempts, reworks and replans stay within what the node and the CEO
//     grant, and a node has one outstanding attempt;
//   - 7 only the claimant's answer counts, and a repeated command adds nothing;
//   - 8 an ended execution never changes, an ended bead only if it is reopened;
//   - 9 a node runs when every edge into it is settled, one is taken, and its
//     gate holds;
//   - 10, 12 duties belong to their roles, nobody verifies their own work;
//   - 11 an approval is decided once, an order carried out once, by a valid
//     signature over what it is about with a nonce that is new, of a key that was
//     enrolled and not revoked; where it takes several keys, by as many;
//   - 13, 14, 19 one holder of the commit lock, tokens that rise, turns kept;
//   - 15, 16, 17 every ref is moved under the newest fence by the grant's
//     holder, nothing that has an effect has it twice, the target has what the
//     journal has;
//   - 20, 21 no work goes on beyond a budget without a question; depth and what
//     files itself are bounded;
//   - 22 a limit is escalated once, and only where there is one;
//   - 23 what only the CEO may do follows from an order with a reason;
//   - 24 nothing starts, is claimed or times out while it is paused, blocked,
//     halted or over a limit, and held time is given back;
//   - 25 the decision graph has no edge to nowhere and no cycle;
//   - 28 a candidate is of the patch that stands, what lands was verified;
//   - 30 the work queue is given what the journal says, and all of it;
//   - 31 the journals of the actors are whole chains;
//   - 32 when the faults are over, everything ends;
//   - 33 a plan is adopted once and kept to, what has begun stays in it as it
//     was, an unsound one changes nothing, and what is done is not done again;
//   - 34 a task is given once, within its bounds, its end is told once to who
//     gave it, who goes on when all that it waits for has ended, and nobody works
//     on for what has ended;
//   - 35 on a merge train ride those that wait, touch other files and were not
//     refused, what it shows is of what is to land and passed, and all that rode
//     lands with it;
//   - 36 mail goes from who holds an attempt to one that is outstanding, of the same
//     team, is heard once by who it is to; a question has one answer, of who was
//     asked or, once that has ended or its time is over, of the runtime; and nobody
//     waits in a circle;
//   - 37 a vote ends once, when its time is over, or when no vote that is missing
//     can change what comes of it;
//   - 38 what happens to agents is journaled once, in the order of their host's
//     starts and records (lives_test.go);
//   - 43 what is closing takes no attempt from whoever is in the middle of a step of
//     it, or of what works for it, and ends once nobody is;
//   - 44 what is detached is set aside when its time has come, and begins with the end of
//     what was delivered, all of it, once, and nothing else;
//   - 45 of a session of a pattern nothing is handed out before its intent is sealed and
//     validated, and then only the step that runs, for the very envelope that it began for;
//   - 46 an envelope quotes what a person has said and holds, is sealed by a person as it
//     was shown last, and never changes; another one supersedes it through primacy;
//   - 47 phases come in the order of the lifecycle, each with what it needs;
//   - 48 an abort acts at a boundary: one record in memory, the draft that was asked for is
//     there when the session is taken up, and its own memory is emptied;
//   - 49 what a step has to leave it leaves, what is met has evidence, and what lands and is
//     delivered is what the completion check has judged;
//   - 50 nothing begins, or turns, the work of a session around primacy: only persons speak
//     in one, no submission, fork, reopening, move or child does its work, and nobody reads
//     what a model says before the seal;
//   - 51 a session that is over, or whose work goes on elsewhere, hands out nothing;
//   - 52 a session always waits for somebody: for work in hand, or for a person, in whose
//     inbox it stands;
//   - 53 what is held back for a session is what there is beside what others that go on
//     hold back: no more, and none of what ended sessions had;
//   - 54 a step runs at the tempo that holds, stops where that says, is told what was said
//     and not taken back, and writes to the layers that it declares.
//
// What must be seen at least now and then (the "sometimes" list) is in
// simulation_test.go: a run that never gets there proves nothing. Which planted
// bugs it kills, and how fast it is, is in docs/simulation.md.
package simulation
