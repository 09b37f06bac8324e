// Package git is the way of a change from an agent's workspace to the target
// branch of a registered repository.
//
// An agent works in a workspace of its own ([Workspaces]), a small repository
// that borrows the objects of Loom's mirror of the registered one. What it
// made is read as a [Change], by content alone. A [Committer] turns an approved
// change into a candidate commit and, later, lands it.
//
// The package promises: the registered repository receives objects, refs under
// refs/loom, and the target branch or a branch loom/landed, nothing else; each
// of these only under a fencing token that no later holder has overtaken; a
// crash between any two steps leaves the target without the change or with
// exactly one copy of it; a person's checkout is touched in one case only, a
// clean fast-forward; and no configuration, hook, filter or attribute that an
// agent can write is ever obeyed by a git call of Loom.
//
// It never decides whether a change is good, never asks a remote for anything,
// and keeps no state outside the directories that it is given. Layout:
//
//	DIR/repos/PROJECT.git        Loom's mirror; holds refs/loom/wip/EXECUTION
//	DIR/worktrees/EXECUTION      an agent's workspace, with its own .git
//	DIR/index/EXECUTION          Loom's private index of that workspace
//	DIR/kept/                    what could not be saved as a commit
//	DIR/committer/PROJECT/TOKEN  where hooks run; made anew for each candidate
package git
