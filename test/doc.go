// Package test holds what concerns the whole of Loom: stories over several
// packages, and the house rules that its code keeps. It has no code of its own.
package test
