// Package simulation runs the real cores of a project, package project and all
// that it composes, in a simulated world where everything goes wrong: a keeper
// whose appends are lost, whose acknowledgements are lost, who dies before and
// after an append; a work queue that loses, doubles, delays and re-orders;
// agents that fail, lie, die, sleep past deadlines and leases and wake with
// stale claims and tokens; a target branch that moves; a CEO who is slow,
// clicks twice and contradicts herself, and forgers; publishers that repeat
// themselves; hosts that start again; time that jumps.
//
// A run is a seed. It draws which kinds of faults there are, half of them on
// average, and how often each happens; what happens next is drawn from the
// same source, in one goroutine. So a failing seed always fails:
//
//	go test ./test/simulation -run Simulation -seed N -seeds 1 -trace
//
// After the faults comes a phase without any, in which everything must end.
//
// # What is checked
//
// After every event of the journal, by an oracle that knows nothing but events
// (the numbers are those of the list of invariants that the project keeps):
//
//   - 1 a submission that was acknowledged has one bead and one execution, and
//     a repeated one is answered as the first;
//   - 5, 6 attempts of a visit stay within what the node and the CEO grant, and
//     a node has one outstanding attempt;
//   - 7 only the claimant's answer counts, and a repeated command adds nothing;
//   - 8 an ended execution and an ended bead never change;
//   - 9 a node runs when every edge into it is settled and one is taken;
//   - 10, 12 duties belong to their roles, nobody verifies their own work;
//   - 11 an approval is decided once, by a valid signature over its digest with
//     a nonce that is new;
//   - 13, 14, 19 one holder of the commit lock, tokens that rise, turns kept;
//   - 15, 17 every ref is moved under the newest fence by the grant's holder,
//     an execution lands a patch once, and what lands was verified;
//   - 22 a limit is escalated once, and an answer moves it on;
//   - 25 the decision graph has no edge to nowhere and no cycle;
//   - 30 every item of the work queue follows from the journal.
//
// Every 32 steps and at the end: 3, 4 a fold of the journal on another host,
// from nothing or from a snapshot, is the live state; beads agree with their
// executions; whoever holds or awaits the lock has an open attempt; whoever is
// parked awaits the lock. And after the faults: 32 everything ends.
//
// What must be seen at least now and then (the "sometimes" list) is in
// simulation_test.go: a run that never gets there proves nothing. Which planted
// bugs it kills is in docs/simulation.md.
package simulation
