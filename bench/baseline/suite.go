package main

// suite is what is measured: benchmarks of a package, and the probe that they
// are like.
type suite struct {
	Package string
	Pattern string
	Probe   string
}

// suites has every core, and the ways to the disk and over the wire that each
// step takes. What needs minutes, or other engines, stands in bench/README.md.
var suites = []suite{
	{"./graph", "100k$", processor},
	{"./internal/core/workflow", ".", processor},
	{"./internal/core/project", "Claim|Sweep|Snapshot|Restore|List", processor},
	{"./internal/store/journal", ".", processor},
	{"./internal/lang/condition", ".", processor},
	{"./internal/core/notice", ".", processor},
	{"./internal/base/redact", ".", processor},
	{"./internal/store/headmark", ".", disk},
	{"./internal/store/projection", "Apply|Work", disk},
	{"./internal/store/natsjournal", ".", disk},
	{"./internal/net/natswire", ".", processor},
	{"./internal/net/broker", "Work|Notice|Request", disk},
}
