// Package config reads what a host is configured with, and says of every value
// where it came from.
//
// Values stand in up to three TOML files: the workspace's loom.toml goes over
// the user's, which goes over the machine's. What a host was started with before
// goes over the files, the environment over that, and flags go over everything. Values are replaced whole, except that
// tables are merged entry by entry: an agent count of one role does not take
// away that of another.
//
// What there is to set is not known here. The command says it, as a list of
// [Key], one for each of its flags, so that a new flag can be configured
// without a word about it here.
//
// # What it promises
//
// A file is read strictly: unknown keys, keys given twice, values of the wrong
// type and values that a flag would refuse are all reported at once, each with
// file, line and column, and nothing of a file that has a mistake is used.
// Files are at most 64 KiB. A file that others may write into is refused.
//
// A workspace may come from a stranger. Its file may set what concerns the work
// in it, see [Key.Workspace], with paths that stay inside it, and nothing that
// widens what the machine allows.
//
// # What it never does
//
// It holds no secret. A configuration names the files that secrets stand in,
// and those are read when they are needed; a key that looks like a secret is
// refused without being echoed.
package config
