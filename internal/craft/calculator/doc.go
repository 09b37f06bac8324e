// Package calculator computes with decimals: expressions that people and
// models write, and the formulas of finance by name.
//
// It promises that sums, differences and products are exact while they fit in
// 100 digits, that everything else is correct to 34 digits, rounded half to
// even, and that an answer says whether it was rounded. Each computation ends:
// text, nesting, digits, exponents, flows and periods have limits, and what is
// beyond them is refused with calculation/limit.
//
// It never uses binary fractions for an answer, guesses a missing input, or
// returns one of several solutions as if it were the only one. It has no
// state; everything in it may be used by several goroutines.
package calculator
