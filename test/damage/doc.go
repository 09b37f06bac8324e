// Package damage alters the files of a data directory, one bit, one cut or one
// file at a time, and demands that nobody is deceived: what "loom verify" and
// the next start say must name the damage, or nothing that was acknowledged may
// have changed. It has no code of its own.
//
//	go test ./test/damage                                           a fixed list, in seconds
//	go test ./test/damage -run Long -args -flips 500 -cuts 100 -files 50
package damage
