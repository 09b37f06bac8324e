// Package tool is what agents can do: read, write, edit and search files of a
// workspace, run a command in it, look at its git history, write to and ask
// the decision graph, compute, work on tables, documents and charts, and ask
// sources outside.
//
// It promises that no tool but shell touches a file outside the workspace,
// whatever its arguments say (links, "..", special files and .git included);
// that every call ends in an answer, at most 1 MiB long, which says what was
// cut; and that what a call started is gone when it returns. A refused call is
// an answer too, never a failure of the caller.
//
// It is no sandbox: what shell runs may do all that the host's user may, so
// shell answers tool/no-sandbox unless the operator has allowed it.
package tool
