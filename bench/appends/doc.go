// Package appends measures durable commands by so many callers at once: each asks
// a host over loopback to add a decision, and is answered when it is on the disk.
//
//	go test ./bench/appends -run '^$' -bench Append -benchtime 5000x
//
// The host is as "loom up" runs it, with every acknowledged write synced
// (SyncAlways); what comes while an append is on its way goes into the next one.
// Beside it stands what one writer alone gets from the same disk: a write of a
// kilobyte and fsync, one after the other.
package appends
