// Command bench starts a peer's servers and its worker, meters both from outside
// while the worker drives the work, and prints one JSON line. With -kill it
// measures recovery after kill -9 of server and worker instead.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"peers/common"
)

type list []string

func (l *list) String() string     { return strings.Join(*l, " ; ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

var (
	servers, readies, setups list
	peer                     = flag.String("peer", "", "peer's name")
	version                  = flag.String("version", "", "versions, words")
	durable                  = flag.String("durability", "", "what survives what, words")
	worker                   = flag.String("worker", "", "worker command line, without -c/-n/-warm")
	conc                     = flag.Int("c", 1, "executions in flight")
	n                        = flag.Int("n", 100, "executions")
	warm                     = flag.Int("warm", 20, "warm-up executions")
	disk                     = flag.String("disk", "", "comma-separated paths whose growth is counted")
	cal                      = flag.String("cal", ".", "folder for the fsync probe")
	logf                     = flag.String("log", "bench.log", "where servers and worker write")
	kill                     = flag.Bool("kill", false, "kill -9 test with n executions in flight")
	ledger                   = flag.String("ledger", "ledger.txt", "kill test: step ledger")
	killAt                   = flag.Int("kill-at", 50, "kill test: kill when so many commit steps have run")
	control                  = flag.Bool("control", false, "kill test without the kill, for comparison")
)

type proc struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

var log *os.File

func die(a ...any) {
	fmt.Fprintln(os.Stderr, a...)
	for _, p := range live {
		p.kill9()
	}
	os.Exit(1)
}

var live []*proc

func start(line string, pipe bool) *proc {
	c := exec.Command("sh", "-c", "exec "+line)
	c.Stderr = log
	p := &proc{cmd: c}
	if pipe {
		p.in, _ = c.StdinPipe()
		o, _ := c.StdoutPipe()
		p.out = bufio.NewReaderSize(o, 1<<20)
	} else {
		c.Stdout = log
	}
	if err := c.Start(); err != nil {
		die("start", line, err)
	}
	live = append(live, p)
	return p
}

// kill9 kills the process and its whole tree, as a power cut would.
func (p *proc) kill9() {
	for _, pid := range common.Tree(p.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = p.cmd.Wait()
}

// quit lets the worker end by itself, so that it can close its files.
func (p *proc) quit() {
	fmt.Fprintln(p.in, "QUIT")
	p.in.Close()
	t := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait()
	t.Stop()
}

func (p *proc) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(45 * time.Second):
		p.kill9()
	}
}

func (p *proc) expect(word string, limit time.Duration) string {
	type r struct {
		s   string
		err error
	}
	ch := make(chan r, 1)
	go func() {
		for {
			s, err := p.out.ReadString('\n')
			s = strings.TrimSpace(s)
			if err != nil || strings.HasPrefix(s, word) {
				ch <- r{strings.TrimSpace(strings.TrimPrefix(s, word)), err}
				return
			}
			fmt.Fprintln(log, "worker:", s)
		}
	}()
	select {
	case x := <-ch:
		if x.err != nil {
			die("worker ended before", word, x.err)
		}
		return x.s
	case <-time.After(limit):
		die("worker said no", word, "in", limit)
	}
	return ""
}

func up() []*proc {
	var ps []*proc
	for i, s := range servers {
		ps = append(ps, start(s, false))
		if i < len(readies) && readies[i] != "" {
			ready(readies[i])
		}
	}
	return ps
}

// ready waits for a TCP address to accept, or for a command ("cmd:...") to succeed.
func ready(what string) {
	end := time.Now().Add(90 * time.Second)
	for time.Now().Before(end) {
		if c, ok := strings.CutPrefix(what, "cmd:"); ok {
			if exec.Command("sh", "-c", c).Run() == nil {
				return
			}
		} else if k, err := net.DialTimeout("tcp", what, time.Second); err == nil {
			k.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	die("not ready:", what)
}

func down(ps []*proc) {
	for i := len(ps) - 1; i >= 0; i-- {
		ps[i].stop()
	}
}

func roots(ps []*proc) (v []int) {
	for _, p := range ps {
		v = append(v, p.cmd.Process.Pid)
	}
	return
}

func run(c string) {
	x := exec.Command("sh", "-c", c)
	x.Stdout, x.Stderr = log, log
	if err := x.Run(); err != nil {
		die("setup", c, err)
	}
}

func rnd(f float64, d int) float64 {
	var v float64
	fmt.Sscanf(fmt.Sprintf("%.*f", d, f), "%g", &v)
	return v
}

func main() {
	flag.Var(&servers, "server", "server command line (may be given again; started in order)")
	flag.Var(&readies, "ready", "host:port or cmd:... to wait for, in the same order")
	flag.Var(&setups, "setup", "command run once against the started servers")
	flag.Parse()
	var err error
	if log, err = os.Create(*logf); err != nil {
		die(err)
	}
	// Leave nothing running when told to end early.
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
	go func() { die("ended by", <-sig) }()

	paths := strings.Split(*disk, ",")
	mbps, fs := common.Calibrate(*cal)

	// A first start lays down the schema; then stop, so that the base size is exact.
	ps := up()
	for _, s := range setups {
		run(s)
	}
	down(ps)
	base := common.DiskBytes(paths...)
	ps = up()

	if *kill || *control {
		killRun(ps, mbps, fs)
		return
	}
	w := start(fmt.Sprintf("%s -c %d -n %d -warm %d", *worker, *conc, *n, *warm), true)
	w.expect("READY", 10*time.Minute)
	srvPids, wPid := roots(ps), []int{w.cmd.Process.Pid}
	cs0, cw0 := common.TreeCPU(srvPids...), common.TreeCPU(wPid...)
	busy0, t0 := common.MachineBusy(), time.Now()
	var peakS, peakW int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if s := common.TreePSS(srvPids...); s > peakS {
				peakS = s
			}
			if s := common.TreePSS(wPid...); s > peakW {
				peakW = s
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	}()
	fmt.Fprintln(w.in, "GO")
	raw := w.expect("RESULT", 30*time.Minute)
	cs1, cw1 := common.TreeCPU(srvPids...), common.TreeCPU(wPid...)
	others := (common.MachineBusy() - busy0 - (cs1 - cs0) - (cw1 - cw0)) / time.Since(t0).Seconds()
	close(stop)
	<-stopped
	var r common.LoadResult
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		die("bad result", raw, err)
	}
	w.quit()
	down(ps)
	grown := common.DiskBytes(paths...) - base
	eps := float64(r.Completed) / r.WallS
	out := map[string]any{
		"peer": *peer, "version": *version, "durability": *durable, "concurrency": *conc, "n": *n,
		"exec_per_s": rnd(eps, 2), "step_per_s": rnd(eps*common.StepsPerExec, 1),
		"p50_ms": rnd(r.P50, 2), "p99_ms": rnd(r.P99, 2), "step_p50_ms": rnd(r.StepP50, 3), "step_p99_ms": rnd(r.StepP99, 3),
		"cpu_s_per_1k":        rnd((cs1-cs0+cw1-cw0)/float64(r.Completed)*1000, 3),
		"cpu_server_s_per_1k": rnd((cs1-cs0)/float64(r.Completed)*1000, 3),
		"cpu_worker_s_per_1k": rnd((cw1-cw0)/float64(r.Completed)*1000, 3),
		"rss_mb":              rnd(float64(peakS+peakW)/1e6, 1), "rss_server_mb": rnd(float64(peakS)/1e6, 1), "rss_worker_mb": rnd(float64(peakW)/1e6, 1),
		"disk_bytes_per_exec": grown / int64(*n+*warm), "wall_s": rnd(r.WallS, 2), "errors": r.Errors,
		"cal_sha256_mb_s": rnd(mbps, 0), "cal_fsync_ms": rnd(fs, 3),
		"other_cores_busy": rnd(others, 2), // cores taken meanwhile by processes that are not ours
	}
	if r.LastErr != "" {
		out["last_err"] = r.LastErr
	}
	b, _ := json.Marshal(out)
	fmt.Println(string(b))
}

func killRun(ps []*proc, mbps, fs float64) {
	_ = os.Remove(*ledger)
	w := start(fmt.Sprintf("%s -c %d -n %d -warm 0 -hold -ledger %s", *worker, *n, *n, *ledger), true)
	w.expect("READY", 5*time.Minute)
	t0 := time.Now()
	fmt.Fprintln(w.in, "GO")
	w.expect("STARTED", 10*time.Minute)
	started := time.Since(t0)
	out := map[string]any{
		"peer": *peer, "version": *version, "durability": *durable, "test": "kill9", "in_flight": *n,
		"start_all_s": rnd(started.Seconds(), 2), "cal_sha256_mb_s": rnd(mbps, 0), "cal_fsync_ms": rnd(fs, 3),
	}
	var raw string
	if *control {
		out["test"] = "control"
		t1 := time.Now()
		raw = w.expect("RESULT", 30*time.Minute)
		out["after_started_s"] = rnd(time.Since(t1).Seconds(), 2)
	} else {
		for count("commit") < *killAt {
			time.Sleep(5 * time.Millisecond)
		}
		for i := len(ps) - 1; i >= 0; i-- {
			ps[i].kill9()
		}
		w.kill9()
		t1 := time.Now()
		before := count("")
		ended := count("verify")
		ps = up()
		t2 := time.Now()
		w = start(fmt.Sprintf("%s -c %d -n %d -warm 0 -resume -ledger %s", *worker, *n, *n, *ledger), true)
		w.expect("READY", 5*time.Minute)
		fmt.Fprintln(w.in, "GO")
		raw = w.expect("RESULT", 30*time.Minute)
		out["steps_run_before_kill"], out["verify_run_before_kill"] = before, ended
		out["server_up_s"] = rnd(t2.Sub(t1).Seconds(), 2)
		out["all_complete_s"] = rnd(time.Since(t1).Seconds(), 2)
	}
	var r common.LoadResult
	_ = json.Unmarshal([]byte(raw), &r)
	w.quit()
	down(ps)
	seen := map[string]int{}
	for _, l := range lines() {
		seen[l]++
	}
	rep := 0
	for _, k := range seen {
		if k > 1 {
			rep += k - 1
		}
	}
	want := *n * (common.StepsPerExec - 1)
	out["completed"], out["lost"] = r.Completed, *n-r.Completed
	out["distinct_steps"], out["missing_steps"], out["steps_run_again"] = len(seen), want-len(seen), rep
	if r.LastErr != "" {
		out["last_err"] = r.LastErr
	}
	b, _ := json.Marshal(out)
	fmt.Println(string(b))
}

func lines() []string {
	b, _ := os.ReadFile(*ledger)
	var v []string
	for _, l := range strings.Split(string(b), "\n") {
		if l != "" {
			v = append(v, l)
		}
	}
	return v
}

func count(step string) int {
	if step == "" {
		return len(lines())
	}
	k := 0
	for _, l := range lines() {
		if strings.Contains(l, " "+step+" ") {
			k++
		}
	}
	return k
}
