// Package recovery measures how long a host takes to serve again, by how many
// events its journal has, with a snapshot and without; and what ten thousand
// executions cost that wait for the CEO. Every figure is of a host in a process
// of its own, over a journal on a disk with fsync. It has benchmarks only:
//
//	go test ./bench/recovery -run '^$' -bench . -benchtime 1x
//	go test ./bench/recovery -run '^$' -bench Recovery -benchtime 1x -timeout 30m -million
package recovery
