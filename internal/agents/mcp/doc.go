// Package mcp uses the tools of external servers that speak the Model Context
// Protocol, named in a .mcp.json as other programs have it.
//
// It promises that nothing of a server is used that the operator has not seen
// and trusted: how the server is started or reached, and the name, description
// and schema of each tool, are pinned by digest ([Pin]). A model is shown the
// pinned description, never what a server says today; a server that says
// something else is not called, and the refusal says what changed. A server is
// started when it is first called, through the sandbox that the caller brings,
// and is gone when its [Toolbox] is closed.
//
// It never answers a server's own requests: no sampling, no roots, no questions
// to people. What a tool gives back is data: it is bounded, and marked with
// where it comes from.
package mcp
