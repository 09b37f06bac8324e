// Package toolkit keeps the tools that packages of processes bring, and knows
// what their programs say.
//
// A program of a package is asked twice in its life for what it says of itself,
// and for its work, with JSON: "PROGRAM describe" writes a [Tool], "PROGRAM
// call" reads arguments and writes an [Answer]. Which process may use what, and
// in which sandbox it runs, is its caller's.
//
// It promises that nothing of a package runs but the very bytes that the
// operator has trusted: what is trusted ([Trust]) is copied to a private
// directory under the digest of all its files, and looked at again each time
// before it is used. What programs say is read strictly, and is bounded. It
// starts nothing.
package toolkit
