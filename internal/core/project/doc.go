// Package project composes the pure cores of one project: beads, executions of
// workflows, agents' turns, the decision graph, the commit lock and approvals.
//
// A [State] is a fold over the project's events. [State.Do] decides a command:
// it checks everything first, then emits facts, each of which is applied at
// once, so that the next decision sees it. What it returns must be made durable
// before anything is told to anybody; if that fails, the State is thrown away
// and replayed. Nothing here knows a clock, I/O, randomness or a goroutine, and
// applying an event never decides anything again.
//
// Every command may be repeated: what was done is answered as the first time.
// A refusal changes nothing, with one exception that is a fact in itself: an
// approval that was presented and refused is recorded.
package project
