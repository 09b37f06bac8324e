// Package demo runs Loom's main job on a machine with nothing but Go and git:
// it makes a repository with a bug, starts a host, publishes an error report
// as a service would, and shows what happens until a verified commit is on the
// branch.
//
// The language model alone is stood in for, by a script, and that is said
// wherever it shows. Everything else is what a deployment runs: broker,
// journal, workflow, agents, tools, tests, hooks, commit lock, the CEO's
// signature. If a tool lied, the demo would fail.
package demo
