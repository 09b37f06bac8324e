// Package train decides which changes land together, and finds out which of them
// does not belong.
//
// A merge train is a row of verified changes that touch different files, stacked
// in the order in which they wait for the commit lock. Its last commit is tested
// for all of them. [Compose] makes the row; a [Search] says which part of it is to
// be tested next, until it is known how far the train may land and whose change
// is the first that makes the tests fail.
//
// It promises that nothing lands that was not tested as it lands, that who waits
// longer is never overtaken at a file, and that n changes are tested at most
// 2 + log2(n) times. It never tests, commits or moves anything.
package train
