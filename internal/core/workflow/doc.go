// Package workflow decides how an execution goes on.
//
// It is a pure state machine. The state is a [loomv1.Execution], the facts are
// events, and [Apply] is the only thing that changes the state. A [Run] is one
// command's view of an execution: its methods check everything first, then
// emit events, each of which is applied before the next is decided, so a
// cascade sees its own effects and a refusal changes nothing.
//
// # The rules
//
// A node starts when every edge into it is settled and at least one was taken;
// when all are dead it is skipped, and so are its edges. A node that is not a
// task or an approval completes as it starts. An execution completes when
// every node is settled. Since nothing may hang, a node whose completion would
// leave no way to an end is escalated instead.
//
// A node with a gate starts if the gate holds when it is about to. Otherwise
// the CEO is asked (block), the node is passed over (skip), work goes back to
// an ancestor, a bounded number of times (replan), or the execution fails
// (fail). A gate that cannot be read blocks.
//
// A landing that failed because the target has moved is no fault of the work: the
// commit node before it makes a fresh candidate, which is verified and landed, and
// neither attempts nor reworks count it. So it goes on as long as the target moves;
// a candidate that sits where the last one sat counts as the failure it is.
//
// Where there is nothing left to do, that is an ending. Work that leaves no change
// withdraws the one that stood; an approval of a change is not asked where there is
// none. The commit node then names the newest commit of the target, as it does where
// the target has the change already; the verifications look at that, and a landing
// after them is passed over. If one fails, work goes back to the first node that
// worked, as often as the verification may send work back.
//
// Any other failure takes the first of these that applies:
//
//  1. a failure edge that holds (unless it waits for the attempts);
//  2. the approval node, when its approval of the change has lapsed: no number
//     of attempts brings back evidence that is gone;
//  3. another attempt, after a backoff;
//  4. a failure edge that waited for the attempts;
//  5. rework, by the first rule that holds, a bounded number of times;
//  6. an optional node is passed over;
//  7. one escalation to the CEO. An answer to an escalation ends it; it never
//     leads to an escalation of the escalation. While it is open about a
//     critical node, nothing else starts; what runs goes on.
//
// A node that judges what a phase delivered gives a verdict when it names a broken
// rule of severity error. Step 3 is for failures without a verdict alone, and step 5
// for verdicts alone: a judge that does not answer sends no work back. What nobody
// could judge is not verified (verify/unverified), in steps 6 and 7.
//
// A timeout takes a failure edge or else step 6 or 7, as does an attempt that
// waited too long for a role without a live agent; a judge is asked again before. A success of a commit,
// verify or land node counts only with its evidence; without it the attempt is
// recorded as a failure with the code of what is missing.
//
// What is passed over after it was to run is a gap, which is noted, and its
// success edges are taken all the same: those that hold or, if none does, all. What
// a child went on without is a gap of the node that it works for. A node that begins
// anew has no gap. An execution with gaps completes with gaps; one in which no phase
// has delivered anything (verify/nothing) fails.
//
// The CEO may move an execution to any node: that node and what follows it
// begin anew, all else that is not settled is skipped, and an edge into the
// node is taken if none was; then the start rule goes on. Work that is sent
// back to a node that was passed over makes its way there likewise.
//
// While an execution is held (paused, blocked, at a limit) nothing starts, no
// timer runs and nothing is claimed; an answer is recorded and settles edges,
// and whatever it would have dispatched waits as after a backoff.
//
// An execution that the CEO closes is held and ends when nobody holds an attempt of it,
// at a step's boundary, or else at once.
//
// A detached node is set aside when it is reached, and counts as settled: the end does not
// wait for it. If the execution delivers, the project begins another one after the end
// that does what was set aside ([AfterWork]), about which nobody is asked: what fails for
// good is a gap, and where nothing of it succeeds that execution fails.
//
// A task that a process does is dispatched like any other, but nobody claims
// it: the end of a child execution is its answer.
//
// # What it promises
//
// Dispatches of a visit never exceed the node's attempts and those that the
// CEO granted; a node has at most one outstanding attempt; an ended execution
// never changes; a fold of the events from nothing gives the state after each
// of them.
//
// # What it never does
//
// It knows no clock, log, lock or randomness: time is [Run.Now], chance is a
// hash of an attempt's id. It checks no signature: the project does, before it
// emits ApprovalDecided and calls [Run.Decide].
package workflow
