// Command baseline runs the benchmarks of the cores and of the substrate, and
// says what has become slower, or takes more memory, than what is stored:
//
//	go run ./bench/baseline            # compare with bench/baseline/baseline.json
//	go run ./bench/baseline -update    # store what is measured now
//
// Times of two machines, or of one machine on two days, do not compare. So each
// round first measures two probes, one of the processor and one of the disk
// (probe.go), and what is stored and compared is time in units of the probe
// that the benchmark is like. Of all rounds the least counts, for times and
// for probes: other work on the machine only ever adds. Bytes and allocations
// an operation are compared as they are.
//
// It promises to compare what was measured in one run alone, and to name what
// is new and what is gone. It changes nothing but the file, and that only with
// -update. A ratio within the limit says nothing: on a busy machine an
// unchanged benchmark may be a fifth off.
package main
