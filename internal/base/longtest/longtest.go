// Package longtest leaves tests of whole systems out of "go test -short": those that run
// hosts, servers or stories of the command line, or thousands of cases. Without -short it
// does nothing, and it leaves nothing out unsaid. It is for tests alone.
package longtest

import "testing"

// Skip leaves the test out of "go test -short".
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in -short: a whole system, or thousands of cases")
	}
}
