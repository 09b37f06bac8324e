// Package verify holds what a phase delivered against what its process asked
// for: are the files there, do they hold anything, does any rule that needs no
// judgment find fault with them. What needs judgment it puts as questions to a
// verifier, and counts the answers.
//
// It is pure: the same files and rules give the same findings in the same
// order. Patterns are RE2, which takes time in proportion to the text, and of
// a file at most 256 KiB are looked at, so no rule can hold anybody up. It
// never changes a file and never asks a model.
package verify
