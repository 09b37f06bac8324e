// Package histories keeps journals as they were written by each release, and
// replays them all with the code as it is: the same log gives the same state on
// every release. It has tests only.
//
// A directory of testdata belongs to one release and is never written again by
// a later one. For each history it has NAME.journal (batches), NAME.state (what
// that release folded them to) and NAME.want (what people see of it); "fields"
// lists what the contract of that release knew: fields that came later are left
// out of the comparison, and nothing else.
//
// The histories of the release at hand are written anew with
//
//	go test ./test/histories -run TestWrite -write
//
// which is done when a release is made, or when what it emits has changed since
// they were written; with "-only NAME" one of them is, which has to be done
// before the fields of the contract change again. Whoever makes the next release
// raises the number first.
package histories
