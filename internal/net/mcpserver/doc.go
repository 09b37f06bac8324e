// Package mcpserver offers a host to programs that speak the Model Context
// Protocol: beads, executions, the inbox to read, what happened, and the
// decision graph, and, of a directory that is named, Loom's tools for files,
// tables, documents and figures.
//
// It promises that a client sees only what its scopes allow, that every answer
// is bounded and says what was cut, and that a refusal is an answer of the tool,
// with the code and the words of Loom's own error.
//
// It never approves, rejects or overrides: no scope can. It holds no state of
// its own, so that a client may ask again: what files something takes the
// caller's own id, and the same id files nothing twice.
package mcpserver
