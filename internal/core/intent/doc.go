// Package intent decides a session of a pattern: what a person is asked before
// any work begins, what their answers are sealed as, and what may happen after.
//
// A [Session] is a state machine over facts. [Session.Decide] checks a command
// and returns the facts that it leads to, or a refusal and none;
// [Session.Apply] folds a fact. Neither has a clock, I/O or chance: times come in
// commands. The rules that it holds:
//
//   - Primacy. Before the seal the only words of a model that reach a person are
//     questions that the [Governor] lets through. After three refusals the
//     pattern's own questions are asked instead, and no model's.
//   - The envelope. Each field is made of quotations, word for word, of what the
//     person said. It is shown, bound by its digest, sealed once by an operator
//     or the CEO, and never changed: a revision is a new envelope, with primacy
//     of its own.
//   - The lifecycle. Eleven phases in one order, each entry a fact. No command
//     begins a step without a seal and a META validation that passed.
//   - Tempo, steering and abort act between steps; a second abort ends the step
//     that runs.
//   - A step writes to the layers that it declares.
package intent
