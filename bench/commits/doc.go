// Package commits measures the commit lock through a real journal: an embedded
// server with its file store, every append synced before it counts (SyncAlways).
//
//	go test ./bench/commits -run '^$' -bench Grants -benchtime 1000x
//
// A grant is asked for, waited for and given back, by real agents of one host, each
// of which is parked while another one holds the lock. What lies between asking and
// the token is the wait; nothing is done under the lock.
package commits
