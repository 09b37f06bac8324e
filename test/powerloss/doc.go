// Package powerloss holds stories in which the power of a machine fails. A real
// host works on a file system that forgets what was not synced: at a moment
// that is drawn, everything stops; of the writes and names that no fsync had
// made durable some are kept, some are lost, and one is torn at a sector; then
// the host is started again on what is left. It has no code of its own.
//
// The file system is served over FUSE by the test itself, so the stories need
// Linux, /dev/fuse and the right to mount. Where these are not there, they say
// "power loss: NOT RUN", which .ci/run repeats in its summary, and the model of
// the disk alone is tested.
//
// How many cuts, with which seed, and how much an fsync promises, is chosen by
//
//	go test ./test/powerloss -run PowerCuts -v -power.cuts 200 -power.seed 7 -power.promise posix
//
// A disk that is slow, whose fsync takes half a second more, is
//
//	go test ./test/powerloss -run ASlowDisk -v -power.slow 500ms -timeout 1h
//
// The promises are in disk_test.go: journal (ext4), own (btrfs) and posix (what
// is written in the standard, and no more).
package powerloss
