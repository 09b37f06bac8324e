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
	{"./internal/workflow", ".", processor},
	{"./internal/project", "Claim|Sweep|Snapshot|Restore|List", processor},
	{"./internal/journal", ".", processor},
	{"./internal/condition", ".", processor},
	{"./internal/notice", ".", processor},
	{"./internal/redact", ".", processor},
	{"./internal/headmark", ".", disk},
	{"./internal/projection", "Apply|Work", disk},
	{"./internal/natsjournal", ".", disk},
	{"./internal/natswire", ".", processor},
	{"./internal/broker", "Work|Notice|Request", disk},
}
