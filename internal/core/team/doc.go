// Package team decides what an agent that leads may give to others: how deep
// tasks may be nested, how many there may be, who works for whom, and what they
// may spend.
//
// It promises that a tree of tasks has an end: no task lies deeper than
// [MaxDepth], no execution gives more than [MaxTasks], no tree has more than
// [MaxTree], no task is given again to the role that has it already for the same
// goal, and none may spend more than its giver has left.
//
// It is pure: it knows no clock, no I/O and no project, and never starts
// anything.
package team
