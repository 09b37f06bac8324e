// Package agent does the work of one assignment: it builds the prompt, runs
// the turn that the turn core prescribes with a model and tools, and carries
// out the duties that no model has a say in: proposing the change of a
// worktree, making the candidate commit, running the required checks on a
// clean checkout, landing.
//
// Every step is recorded before it counts (the prompt, each answer, each tool
// call before and after), so a turn that was cut off goes on, on any host, from
// its last recorded step: an answer that was paid for is never asked for again.
//
// A model's word decides nothing by itself: a change is what the worktree has,
// a check passed when its command exited with 0 on the candidate's checkout,
// and what a role may use was fixed before the model saw any text.
package agent
