// Package patchscan looks at what a proposed change contains before a person is
// asked to sign it: size, binary content, links, modes, attributes, files that
// run by themselves, text that looks like a key, tests that are gone.
//
// It is pure and deterministic: the same change, policy and rules give the same
// findings, in the same order. It bounds its work by bytes and says in a finding
// what it did not look at. No finding quotes the value of a secret.
//
// What it finds is what a careful reader could overlook in a long diff. It does
// not prove a change harmless: somebody who wants to hide a key can encode it in
// a way that no rule knows.
package patchscan
