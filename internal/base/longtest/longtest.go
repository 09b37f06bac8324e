// Package longtest leaves tests out of "go test -short" that take more than half a second
// or so: those that run hosts, servers, many commands of git or stories of the command
// line, or thousands of cases. What stays asks every package something in little more
// time than it takes to link the tests. Without -short it does nothing, and it leaves
// nothing out unsaid. It is for tests alone.
package longtest

import "testing"

// Skip leaves the test out of "go test -short".
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in -short: a whole system, many processes, or thousands of cases")
	}
}
