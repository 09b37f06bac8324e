// Package errand takes one goal from a directory and brings its deliverables
// back: it makes the directory a workspace, runs a host of its own until the
// work has ended or waits for a person, and writes what was delivered where it
// is wanted.
//
// A directory that is a git repository is worked on as it is. Any other is
// imported into a repository that Loom makes beside its data directory, and the
// directory itself is only ever given files that were delivered: one that a
// person has changed meanwhile is left alone and named.
package errand
