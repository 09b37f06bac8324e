// Package chaos holds stories in which things go wrong: hosts that are killed
// at random moments, started twice or on damaged data, hooks that fail or hang,
// tools that lie. Hosts are real processes, looked at from outside, as any
// client would. It has no code of its own.
//
// How often the host is killed, and with which seed, is chosen by
//
//	go test ./test/chaos -run NineAt -v -chaos.kills 200 -chaos.seed 7
package chaos
