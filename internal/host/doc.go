// Package host wires a running Loom process: data directory, broker, journals,
// actors, effects and services; it starts them in order and stops them in the
// opposite one.
//
// It promises that a host is the only one on its data directory, that it starts
// only when everything it was ever told is there, and that it stops cleanly:
// agents give their work back, nothing is half done. It never decides anything
// about work; that is what the cores are for.
package host
