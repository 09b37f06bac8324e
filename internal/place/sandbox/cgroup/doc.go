// Package cgroup puts commands into control groups of their own (version 2), in
// which the kernel bounds their memory and their processes together, and from
// which none of them escapes.
//
// # What it promises
//
// It works within what was delegated to this process and nowhere else: a group
// that it may write, that has the controllers memory and pids, and in which
// nobody runs but itself; under systemd one that a unit says Delegate= for.
// Where there is none, [Delegated] says why and nothing has changed.
//
// A group holds what its limits say to the byte and to the process. What is in
// it when it is closed is killed by the kernel, all at once.
//
// # What it never does
//
// It moves no process but its own, and takes no group away in which anything
// runs.
package cgroup
