// Package turn decides what an agent's turn does next: ask the model, run
// tools, ask again because an answer was no use, finish, or stop.
//
// All of a turn is in the [loomv1.Turn] that a project's journal folds to:
// [Decide] turns what an agent wants recorded into facts, [Apply] folds a fact,
// and [Next] reads the next step off the state. Next is the same function
// while a turn runs and when another host takes it over, so a turn goes on
// from its last recorded step: a model's answer is never asked for again, and
// a tool call that may have run is never blindly repeated.
//
// Nothing here reads a clock, a blob or a tool; the shell does, and records
// what came of it.
package turn

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// FinishName is the tool that no set of tools has: a model calls it to end its
// turn, and its arguments are the outcome.
const FinishName = "finish"

// Bounds of what is recorded of a turn.
const (
	MaxRecords = 64        // records of one Decide
	MaxCalls   = 32        // tool calls of one answer
	MaxAnswer  = 512 << 10 // bytes of one recorded answer
	MaxSummary = 300       // bytes of a tool result's summary
	MaxChanged = 100       // paths of a tool result
	MaxTodo    = 30        // items of a list
	MaxRead    = 16        // pages that a call has read
	MaxAddress = 4096      // bytes of where one is
	MaxItem    = 200       // bytes of an item
)

// Limits bounds a turn. The zero value gives the defaults.
type Limits struct {
	// Iterations is how many answers a model may give. Zero means 25.
	Iterations int

	// Repairs is how often in a row a model is asked again because its
	// answer was no use. Zero means 2; -1 means never.
	Repairs int

	// Tokens and MicroUSD are what all answers may use: no other is asked for once
	// they have. Zero is no limit; an unknown price counts as nothing.
	Tokens, MicroUSD int64

	// Result is how many bytes of one result are shown: its beginning and its end.
	// Zero shows all.
	Result int

	// Window is what the conversation may take of a model's context. The zero
	// value bounds nothing.
	Window Window
}

// A run of rounds that change nothing is pointed out to the model, then ended.
const (
	nudgeAfter = 3 // equal rounds in a row
	stopAfter  = 5
	stopCycles = 3 // times A, B
)

func (l Limits) iterations() int {
	if l.Iterations == 0 {
		return 25
	}
	return l.Iterations
}

func (l Limits) repairs() int {
	switch {
	case l.Repairs == 0:
		return 2
	case l.Repairs < 0:
		return 0
	}
	return l.Repairs
}

// Started says whether t has begun; a nil turn has not.
func Started(t *loomv1.Turn) bool { return t.GetModel() != "" }
