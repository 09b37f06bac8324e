// Package chaos holds stories in which things go wrong: hosts that are killed
// at random moments, started twice or on damaged data, hooks that fail or hang,
// tools that lie. Hosts are real processes, looked at from outside, as any
// client would. It has no code of its own.
//
// How often the host is killed, and with which seed, is chosen by
//
//	go test ./test/chaos -run NineAt -v -chaos.kills 200 -chaos.seed 7
//
// Three hosts of a deployment are killed, stopped, and cut off from each other
// over wires (package test/wire); docs/chaos.md has the commands and results.
//
// One story is about hundreds of executions: the program of these tests is then
// the host as well, with agents that answer at once, so that all there is to
// measure and to break is the runtime. An auditor of its own reads the whole
// journal afterwards.
//
//	go test ./test/chaos -run Hundreds -v -chaos.orders 600 -chaos.restarts 100 -chaos.seed 7
package chaos
