// Package sandbox runs commands that are not trusted: what a model thinks of,
// a repository's hooks and tests, tools that others wrote.
//
// A command sees a file system of its own: the system's programs and libraries
// read-only, the directories that its [Spec] names, a private /tmp, /dev and
// /proc, and nothing else; no network but its own loopback, no process but its
// own, no capability, no way to get one, and no system call that reaches
// around all that. What it starts ends with it.
//
// It is made of Linux namespaces (user, mount, pid, net, ipc, uts), a seccomp
// filter and, as a second layer, Landlock where the kernel has it. The program
// starts itself again to set them up: a binary that imports this package turns
// into the sandbox's first process when it is called by a certain name, before
// main.
//
// On macOS the same [Spec] becomes a profile for sandbox-exec ([Spec.Profile]). It
// has never been run by those who wrote it, and promises less; [Check] says so.
//
// # What it promises
//
// It fails closed: where a layer that a Spec relies on cannot be had,
// [Command] refuses with sandbox/unavailable and says what is missing, and
// nothing runs. [Check] tells before, by trying.
//
// # What it never does
//
// It does not hide how long things take, nor hold back a kernel that has a
// hole. Where [UseGroups] has found no control groups, limits on memory and
// processes are kept by looking ten times a second, so a command can go beyond
// them for that long.
package sandbox
