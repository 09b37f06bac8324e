// Package decisions compares the decision graph in memory with the same graph
// in SQLite tables, in one run:
//
//	go test -run xxx -bench . -benchmem ./bench/decisions
//
// The tables have the indexes one would give them and full text by FTS5; they
// are in a file with a write-ahead log and fsync off, which favours them: the
// graph's own durability is the journal's, and not part of either.
package decisions
