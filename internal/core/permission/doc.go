// Package permission decides whether a tool call may be made: by the standing
// permissions of the CEO, each of which allows, asks about or denies the calls
// of a role and a tool on what matches a pattern.
//
// One that denies wins over all others; else the newest that matches holds; else
// what the role's own definition says. A call on several things is denied, or
// asked about, when a pattern matches one of them, and allowed only when it
// matches all. A permission never gives a role a tool that it does not have.
//
// It looks at what a call names, and at nothing that the call then does: a
// command that is allowed may read a path that is denied to other tools. What
// keeps processes apart from files is the sandbox.
package permission
