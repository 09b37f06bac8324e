// Package plan takes goals apart: it looks at what a workspace holds, words
// what a planner is asked, reads the plan that it answers with, and holds the
// plan against the process that it is for.
//
// It is pure: it reads files through io/fs and asks nobody. The same workspace,
// process and answer give the same text, plan or refusal.
package plan
