// Package play drives the cores of a project through whole stories, as agents,
// services, the clock and the CEO would, and gives the batches that a keeper
// would have appended: journals for tests and benchmarks. The same calls give
// the same journal, byte for byte. It keeps nothing on a disk and knows no
// server; a story that the cores do not take as it is told panics.
package play
