// Package retention cuts the beginning off a journal: into an archive file,
// with a base in its place that holds everything the beginning was folded into.
//
// It promises that a cut happened or did not, whatever stops it: the archive
// and the base are durable and read back before the journal says that it is
// cut, and only then batches are purged; what was stopped after that is
// finished by [Cutter.Finish]. It promises that an archive which was altered,
// or not written to its end, is told by [Read]. It never cuts what it could not
// fold, and never removes an archive that the journal names.
package retention
