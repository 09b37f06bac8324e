//go:build unix

// Command large takes changes of one file each the whole way in a repository of many
// files, with a host as "loom up" runs it, in the sandbox, and agents that answer by a
// script: a look, a worktree, a commit with a hook, a verification, a landing. It says
// what each node takes, how long the commit lock is held, how many checkouts are
// written whole and how many moved, and what disk is used while it runs and after. The
// repository holds a binary of 50 MB: it is read, a change lands beside it, and in the
// end a change adds another one.
//
//	go run ./bench/large -dir DIR [-from DIRECTORY] [-n 10]
//
// It ends by itself; what it made lies in DIR and goes with it.
package main
