// Command work runs Loom on work W, the load that bench/peers puts on other
// engines: executions of a workflow with triage, an investigation in two
// cycles, an approval, a commit step and a verification, whose agents answer
// at once.
//
// It is a host and its load in one process, as bench/peers meters it. The host
// is the one that "loom up" runs: embedded NATS with fsync on each
// acknowledged write, journal, projection, notices, and agents that pull their
// work; only what an agent does is replaced, by an answer of about 200 bytes.
// The load is a client on loopback: it submits by request, which is answered
// once the bead is durable, hears of what happens by notices, and approves
// with the CEO's signed command.
//
// It speaks the harness's line protocol on standard input and output: READY,
// then on GO the load, then RESULT and one line of JSON, until QUIT.
package main
