// Package realwork has Loom mend repositories that it did not make. Each is taken from its registry when the test runs, by a
// pinned version and checksum, put under git, and given a bug by an edit; nothing of
// theirs is kept here but the few lines that an edit or an answer quotes. Setup,
// sandbox, tools, hooks, checks and landing are real.
//
// The answers of the model are kept, in answers/NAME.yaml, by node, visit, attempt
// and step. They were given by playing the model: by reading a request and nothing
// else. So this proves that runtime, sandbox and tools let such work be done, and not
// that a prompt is good.
//
// Beside each call stands what it must give. Where a tool gives something else the
// run stops and says where. Where a prompt has changed the answers are given all
// the same, in order, and the test says for which nodes it has; to take the new
// prompts as those that the answers belong to:
//
//	go test -tags realwork ./test/realwork -renew
//
// To have answers made anew by a language model, or by a person who plays one:
//
//	go test -tags realwork ./test/realwork -run /humanize -model anthropic:MODEL -timeout 2h
//
// It needs the Go module proxy, npm's registry and Debian's mirror, and what the
// repositories are built with: go, cc, make, node, npm, and python3 with venv and
// setuptools as Debian ships them. Where a registry is away, or the system has no
// sandbox, the test says NOT RUN, which .ci/run repeats in its summary. It is built
// with the tag realwork; without it the package has no code.
package realwork
