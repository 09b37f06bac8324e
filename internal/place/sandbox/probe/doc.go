// Package probe tries to get out of the sandbox.
//
// Each [Probe] is one thing that a command must not be able to do: change,
// link, rename or relabel a file outside of its workspace (promise P11), read a
// secret of the machine (P12), or reach anything over a network or a socket
// (P13). [Run] sets up bait outside, starts this program again inside a real
// sandbox, has it try them all, and looks afterwards whether the bait was
// touched. A binary that imports this package turns into the one that tries
// when its first argument is a certain word, before main.
//
// # What it promises
//
// A probe counts as refused only if the try failed for a reason that a sandbox
// gives. Probes that must succeed without a sandbox are marked
// [Probe.Control], so that a test can show that they bite.
//
// # What it never does
//
// It never leaves anything behind, and tries nothing that would harm the
// machine if it did get through.
package probe
