//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/sandbox"
)

// TestMain has commands run in control groups, wherever this process was given
// some: systemd-run --user --scope -p Delegate=yes go test ./internal/place/sandbox
func TestMain(m *testing.M) {
	if err := sandbox.UseGroups(); err != nil {
		fmt.Println("WITHOUT CONTROL GROUPS:", err)
	}
	os.Exit(m.Run())
}

// there reports whether this machine has a sandbox. Where it has none, that is
// said loudly, and commands must be refused: nothing else can be tested then.
func there(t *testing.T) bool {
	t.Helper()
	missing := sandbox.Check().Missing
	if len(missing) == 0 {
		return true
	}
	t.Logf("NO SANDBOX ON THIS MACHINE, so only its refusal is tested: %s", strings.Join(missing, "; "))
	dir := t.TempDir()
	if _, err := sandbox.Command(t.Context(), sandbox.Spec{Dir: dir, Write: []string{dir}}, "true"); fault.Code(err) != "sandbox/unavailable" {
		t.Errorf("without a sandbox: %v", err)
	}
	return false
}

// sh runs a script in a sandbox around a fresh directory and returns what it
// wrote and its exit code.
func sh(t *testing.T, script string, change ...func(*sandbox.Spec)) (string, int) {
	t.Helper()
	dir := t.TempDir()
	spec := sandbox.Spec{Dir: dir, Write: []string{dir}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir}}
	for _, f := range change {
		f(&spec)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, err := sandbox.Command(ctx, spec, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

func TestTOOL03_CommandsRun(t *testing.T) {
	if !there(t) {
		return
	}
	for _, c := range []struct {
		script, want string
		code         int
	}{
		{"echo out; echo err >&2; exit 3", "out\nerr\n", 3},
		{"kill -9 $$", "", 137},
		{"kill -TERM $$", "", 143},
		{"exec nosuchprogram", "", 127},
		{"echo $PPID", "1\n", 0},
		{"hostname 2>/dev/null || cat /proc/sys/kernel/hostname", "sandbox\n", 0},
		{"touch x && mkdir d && mv x d && ls d", "x\n", 0},
		{"echo hi > /tmp/x && cat /tmp/x /var/tmp/x", "hi\nhi\n", 0},
		{"echo > /dev/null; head -c 3 /dev/zero | od -An -tx1", " 00 00 00\n", 0},
		{"(sleep 60 &) ; echo done", "done\n", 0}, // what is left does not keep it
		{"awk 'BEGIN{print 1+1}'", "2\n", 0},
		{"env", "", 0},
	} {
		out, code := sh(t, c.script)
		if code != c.code || c.want != "" && out != c.want {
			t.Errorf("%s: %q, exit code %d; want %q, %d", c.script, out, code, c.want, c.code)
		}
	}
}

func TestTOOL03_OnlyWhatIsNamedIsThere(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	outside, readable := t.TempDir(), t.TempDir()
	for _, dir := range []string{outside, readable} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("secret"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(s *sandbox.Spec) { s.Read = append(s.Read, readable, "/does/not/exist") }
	for _, c := range []struct {
		name, script string
		works        bool
	}{
		{"read outside", "cat " + outside + "/file", false},
		{"list outside", "ls " + outside, false},
		{"write to a place of that name in memory", "mkdir -p " + outside + " && echo x > " + outside + "/file", true},
		{"link outside", "ln -s " + outside + "/file l && cat l", false},
		{"read what is readable", "cat " + readable + "/file", true},
		{"write what is readable", "echo x > " + readable + "/file", false},
		{"remove what is readable", "rm -f " + readable + "/file && ! test -e " + readable + "/file", false},
		{"chmod what is readable", "chmod 600 " + readable + "/file", false},
		{"touch what is readable", "touch " + readable + "/file", false},
		{"make in the root", "mkdir /x", false},
		{"change the system", "touch /usr/x", false},
		{"change a program", "echo > /bin/ls", false},
		{"read shadow passwords", "cat /etc/shadow", false},
		{"home of the user", "ls ~root /home/*", false},
		{"environment of the host", "cat /proc/1/environ | grep -q .", false},
		{"memory of the machine", "head -c 1 /proc/kcore | grep -q .", false},
		{"kernel settings", "echo x > /proc/sys/kernel/core_pattern", false},
		{"sysrq", "echo h > /proc/sysrq-trigger && test -c /proc/sysrq-trigger && test ! -s /proc/sysrq-trigger; false", false},
		{"the old root", "ls /old /proc/1/root/old", false},
		{"out by /proc", "ls /proc/self/root/home", false},
		{"a device", "mknod d b 8 0", false},
		{"a disk", "ls /dev/sda /dev/vda", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := sh(t, c.script, read)
			if (code == 0) != c.works {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
	if data, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(data) != "secret" {
		t.Errorf("a file outside is %q (%v)", data, err)
	}
}

func TestTOOL03_NoNetworkButItsOwn(t *testing.T) {
	if !there(t) {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	connect := "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr=>\"127.0.0.1\",PeerPort=>" + port + ",Timeout=>3)?0:1)'"
	if _, err := exec.LookPath("perl"); err != nil {
		t.Fatal("perl is needed for this test")
	}
	if out, code := sh(t, connect); code == 0 {
		t.Errorf("it reached the host's loopback: %s", out)
	}
	if out, code := sh(t, connect, func(s *sandbox.Spec) { s.Network = true }); code != 0 {
		t.Errorf("with the network it did not: %s", out)
	}
	own := `perl -MIO::Socket::INET -e '$l=IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1",LocalPort=>4242) or die; IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>4242) or die; print "ok"'`
	if out, code := sh(t, own); code != 0 || out != "ok" {
		t.Errorf("its own loopback: %q, exit code %d", out, code)
	}
	out, code := sh(t, `perl -MIO::Socket::INET -e 'my $s=IO::Socket::INET->new(Proto=>"udp",PeerAddr=>"192.0.2.1",PeerPort=>53) or exit 1; $s->send("x") or exit 1'`)
	if code == 0 {
		t.Errorf("a datagram left: %s", out)
	}
}

// Each call answers with an error, and not by ending the command.
func TestTOOL03_CallsThatReachAroundAreRefused(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	number := map[string]map[string]int{
		"amd64": {"ptrace": 101, "unshare": 272, "mount": 165, "bpf": 321, "keyctl": 250, "io_uring_setup": 425, "userfaultfd": 323, "setns": 308, "perf_event_open": 298, "process_vm_readv": 310},
		"arm64": {"ptrace": 117, "unshare": 97, "mount": 40, "bpf": 280, "keyctl": 219, "io_uring_setup": 425, "userfaultfd": 282, "setns": 268, "perf_event_open": 241, "process_vm_readv": 270},
	}[runtime.GOARCH]
	for name, n := range number {
		out, code := sh(t, "perl -e 'syscall("+strconv.Itoa(n)+",0x10000000,0,0,0,0); print $!+0'")
		if code != 0 || out != "1" {
			t.Errorf("%s: errno %q, exit code %d, want 1 (EPERM)", name, out, code)
		}
	}
	for family, want := range map[int]string{1: "0", 2: "0", 10: "0", 16: "0", 17: "97", 38: "97", 40: "97"} {
		out, _ := sh(t, "perl -e 'socket(my $s,"+strconv.Itoa(family)+","+map[bool]string{true: "3", false: "1"}[family == 16 || family == 17]+",0) ? print 0 : print $!+0'")
		if out != want {
			t.Errorf("socket family %d: errno %q, want %s", family, out, want)
		}
	}
	if out, code := sh(t, "grep -E 'CapEff|CapBnd|CapPrm|NoNewPrivs|^Seccomp:' /proc/self/status | tr -s '\\t\\n' ' '"); code != 0 ||
		out != "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 " {
		t.Errorf("what it may: %s", out)
	}
}

func TestTOOL03_LimitsHold(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	for _, c := range []struct {
		name, script string
		limits       sandbox.Limits
		code         int
	}{
		{"memory", `perl -e '$x="x"x(400<<20); sleep 60'`, sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"memory of many", `for i in 1 2 3 4; do perl -e '$x="x"x(80<<20); sleep 60' & done; wait`, sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"processes", "for i in $(seq 300); do sleep 60 & done; wait", sandbox.Limits{Processes: 20}, sandbox.ExitLimit},
		{"temporary files", "head -c 70000000 /dev/zero > /tmp/f", sandbox.Limits{Memory: 64 << 20}, 0},
		{"shared memory", "head -c 70000000 /dev/zero > /dev/shm/f", sandbox.Limits{Memory: 64 << 20}, 0},
		{"files in memory together", "for d in /tmp /dev/shm; do head -c 60000000 /dev/zero > $d/f; done; sleep 600", sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"memfd", hoardMemfd, sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"System V segments, detached", hoardSystemV, sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"disk, many files", `for i in $(seq 8); do fallocate -l 64M f$i; done; sleep 600`, sandbox.Limits{Disk: 256 << 20}, sandbox.ExitLimit},
		{"disk, files without a name", `perl -e 'for(1..8){open($f[$_],"+>","f") or exit 9; unlink "f"; for my $i (1..64){syswrite($f[$_],"x"x(1<<20)) or exit 9}} sleep 600'`, sandbox.Limits{Disk: 256 << 20}, sandbox.ExitLimit},
		{"disk, files without a name that are mapped", hoardMapped, sandbox.Limits{Disk: 256 << 20}, sandbox.ExitLimit},
		{"disk, empty files", `mkdir d && perl -e 'for(1..12000){open(my $f,">","d/$_") or exit 9} sleep 600'`, sandbox.Limits{Disk: 16 << 20}, sandbox.ExitLimit},
		{"disk, directories", `mkdir d && perl -e 'for(1..12000){mkdir "d/$_" or exit 9} sleep 600'`, sandbox.Limits{Disk: 16 << 20}, sandbox.ExitLimit},
		{"disk, below more than a path can name", `perl -e 'my $d="d"x200; for(1..40){mkdir $d; chdir $d or exit 9} for(1..8){open(my $f,">",$_) or exit 9; syswrite($f,"x"x(16<<20)) or exit 9} sleep 600'`, sandbox.Limits{Disk: 64 << 20}, sandbox.ExitLimit},
		{"empty files in memory", `for d in /tmp /dev/shm; do perl -e 'for(1..70000){open(my $f,">","$ARGV[0]/$_") or exit 9}' $d || exit 9; done; sleep 600`, sandbox.Limits{Memory: 64 << 20}, 9},
		{"empty files in memory, beside others", `perl -e 'for(1..20000){open(my $f,">","/tmp/$_") or exit 9}'; head -c 90M /dev/zero > /dev/shm/f; sleep 600`, sandbox.Limits{Memory: 100 << 20}, sandbox.ExitLimit},
		{"files among devices", `perl -e 'for(1..20000){open(my $f,">","/dev/$_") or exit 9}'`, sandbox.Limits{}, 9},
		{"size of files", "head -c 3000000 /dev/zero > f", sandbox.Limits{FileSize: 1 << 20}, 0},
		{"open files", `perl -e 'for(1..100){open($f[$_],"<","/dev/null") or exit 9}'`, sandbox.Limits{OpenFiles: 32}, 9},
		{"processor time", "while :; do :; done", sandbox.Limits{CPU: time.Second}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := sh(t, c.script, func(s *sandbox.Spec) { s.Limits = c.limits })
			if code == 0 || c.code != 0 && code != c.code {
				t.Errorf("exit code %d (want %d): %.200s", code, c.code, out)
			}
		})
	}
}

// hoardMemfd keeps 400 MiB in files that are nowhere, and maps none of them.
var hoardMemfd = fmt.Sprintf(`perl -e '
my $name = "hoard"; for (1..4) { my $fd = syscall(%d, $name, 0); $fd >= 0 or exit 9; open(my $f, ">&=", $fd) or exit 9; push @all, $f;
  for (1..100) { syswrite($f, "x"x(1<<20)) or exit 9 } }
sleep 600'`, unix.SYS_MEMFD_CREATE)

// hoardMapped keeps 512 MiB in files that have no name and are not open: a page of
// each is mapped.
var hoardMapped = fmt.Sprintf(`perl -e '
for (1..8) { open(my $f, "+>", "f") or exit 9; unlink "f"; for (1..64) { syswrite($f, "x"x(1<<20)) or exit 9 }
  my $at = syscall(%d, 0, 4096, 1, 1, fileno($f), 0); $at > 0 or exit 9; close $f }
sleep 600'`, unix.SYS_MMAP)

// hoardSystemV fills segments of 400 MiB together and detaches from each.
const hoardSystemV = `perl -e '
for (1..4) { my $id = shmget(0, 100<<20, 0600); defined $id or exit 9; for my $at (0..99) { shmwrite($id, "x"x(1<<20), $at<<20, 1<<20) or exit 9 } }
sleep 600'`

// A command may use what it is given: half of each limit ends nobody.
func TestTOOL03_WhatIsWithinLimitsGoesOn(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	const script = `set -e
head -c 20000000 /dev/zero > /tmp/f
head -c 20000000 /dev/zero > /dev/shm/f
fallocate -l 100M kept
for i in 1 2 3; do fallocate -l 100M f; rm f; sleep 0.3; done
sleep 0.5
echo went on`
	out, code := sh(t, script, func(s *sandbox.Spec) { s.Limits.Memory, s.Limits.Disk = 100<<20, 256<<20 })
	if code != 0 || !strings.Contains(out, "went on") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A command that was there before another finds nothing of it: neither segments
// nor files in memory.
func TestTOOL03_NoSharedMemoryStays(t *testing.T) {
	if !there(t) {
		return
	}
	outside := func() string {
		segments, _ := os.ReadFile("/proc/sysvipc/shm")
		named, _ := filepath.Glob("/dev/shm/left-by-a-test")
		return strings.Join(regexp.MustCompile(`(?m)^ *4711 .*$`).FindAllString(string(segments), -1), "\n") + strings.Join(named, "\n")
	}
	const leave = `perl -e 'defined shmget(4711, 1<<20, 0600|01000) or exit 9' && echo x > /dev/shm/left-by-a-test && grep -c '^ *4711 ' /proc/sysvipc/shm`
	if out, code := sh(t, leave); code != 0 || out != "1\n" {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if left := outside(); left != "" {
		t.Errorf("this machine has %s", left)
	}
	if out, _ := sh(t, `grep -c '^ *4711 ' /proc/sysvipc/shm; ls /dev/shm`); out != "0\n" {
		t.Errorf("the next command has %s", out)
	}
}

// What has taken too much and is gone before anybody looks is told of, too: of
// several processes the kernel ends one, and the rest goes with it.
func TestTOOL03_ControlGroupsHoldMemory(t *testing.T) {
	if !there(t) {
		return
	}
	if !sandbox.Grouped() {
		t.Log("NOT RUN: this process was given no control groups")
		return
	}
	for name, script := range map[string]string{
		"at once":     `perl -e '$x="x"x(400<<20)'; echo went on`,
		"of a child":  `perl -e '$x="x"x(400<<20)' & wait; sleep 600`,
		"in files":    `for i in 1 2 3; do head -c 80000000 /dev/zero > /tmp/$i; head -c 80000000 /dev/zero > /dev/shm/$i; done; echo went on`,
		"of many":     `for i in $(seq 60); do perl -e '$x="x"x(8<<20); sleep 600' & done; wait`,
		"after a nap": `sleep 1; perl -e '$x="x"x(400<<20)'; echo went on`,
	} {
		t.Run(name, func(t *testing.T) {
			out, code := sh(t, script, func(s *sandbox.Spec) { s.Limits.Memory = 100 << 20 })
			if code != sandbox.ExitLimit || !strings.Contains(out, "sandbox: ended:") || strings.Contains(out, "went on") && name != "in files" {
				t.Errorf("exit code %d: %.300s", code, out)
			}
		})
	}
}

// A group holds as many processes as it says, by the kernel, whoever runs them.
func TestTOOL03_ControlGroupsHoldProcesses(t *testing.T) {
	if !there(t) {
		return
	}
	if !sandbox.Grouped() {
		t.Log("NOT RUN: this process was given no control groups")
		return
	}
	multiply(t, 16+64)
}

// A command is ended sooner than its host, where there is no memory left.
func TestF30_CommandsGoFirst(t *testing.T) {
	if !there(t) {
		return
	}
	out, code := sh(t, "cat /proc/self/oom_score_adj")
	if score, err := strconv.Atoi(strings.TrimSpace(out)); code != 0 || err != nil || score < 500 { // 1000, where all goes first
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What multiplies as fast as it can is stopped by the kernel before the machine
// feels it: it counts how far it came. There are 3,000 of it at most.
func TestTOOL03_WhatMultipliesStaysSmall(t *testing.T) {
	if !there(t) {
		return
	}
	if !sandbox.CountsProcesses() {
		t.Log("NOT RUN: this kernel does not count the processes of a sandbox")
		return
	}
	multiply(t, 16+sandbox.Burst)
}

// multiply runs what makes processes as fast as it can, of which 16 are allowed:
// it must be ended for that, and have come to no more than most.
func multiply(t *testing.T, most int64) {
	t.Helper()
	dir := t.TempDir()
	const bomb = `perl -e 'open F,">","n"; for (1..3000) { $p = fork; last unless defined $p; if (!$p) { sleep 600; exit } syswrite F,"x" } sleep 600'`
	out, code := sh(t, bomb, func(s *sandbox.Spec) { s.Dir, s.Write, s.Limits = dir, []string{dir}, sandbox.Limits{Processes: 16} })
	if code != sandbox.ExitLimit || !strings.Contains(out, "the most is 16") {
		t.Errorf("exit code %d: %.200s", code, out)
	}
	if info, err := os.Stat(filepath.Join(dir, "n")); err != nil || info.Size() > most {
		t.Errorf("it came to %d (%v), want %d at most", info.Size(), err, most)
	}
}

// What the sandbox itself needs of processes and threads, it does not take from
// those of a command whose user the kernel bounds.
func TestTOOL03_TheSandboxsOwnThreadsAreNotTheCommands(t *testing.T) {
	if !there(t) {
		return
	}
	out, code := sh(t, "awk '/^Max processes/ {print $3}' /proc/self/limits", func(s *sandbox.Spec) { s.Limits = sandbox.Limits{Processes: 4} })
	if want := strconv.Itoa(4 + sandbox.Burst); code != 0 || strings.TrimSpace(out) != want {
		t.Errorf("exit code %d, the kernel's bound is %q, want %s", code, out, want)
	}
}

// A command may start any number of processes, one after the other.
func TestTOOL03_NumbersOfProcessesAreGivenAgain(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	out, code := sh(t, `perl -e 'for (1..2000) { $p = fork; defined $p or die "the ${_}th: $!"; exit 0 if !$p; waitpid $p, 0 } print "ok"'`,
		func(s *sandbox.Spec) { s.Limits = sandbox.Limits{Processes: 8} })
	if code != 0 || out != "ok" {
		t.Errorf("exit code %d: %.200s", code, out)
	}
}

// When its context ends, nothing of it is left, however it tried to stay.
func TestTOOL03_NothingSurvives(t *testing.T) {
	if !there(t) {
		return
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, err := sandbox.Command(ctx, sandbox.Spec{Dir: dir, Write: []string{dir}, Env: []string{"PATH=/usr/bin:/bin"}},
		"/bin/sh", "-c", "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done' &); while :; do sleep 1; done")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = cmd.Wait()
	if left := processesIn(dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// processesIn lists processes whose working directory lies in dir.
func processesIn(dir string) string {
	var left []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if wd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && strings.HasPrefix(wd, dir) {
			left = append(left, e.Name())
		}
	}
	return strings.Join(left, " ")
}

func TestTOOL03_SpecsThatMakeNoSense(t *testing.T) {
	for _, s := range []sandbox.Spec{
		{Dir: "relative", Write: []string{"relative"}},
		{Dir: "/", Write: []string{"/"}},
		{Dir: "/tmp/x", Write: []string{"/tmp/y"}},
		{Dir: "/tmp/x/../y", Write: []string{"/tmp"}},
		{Dir: "/tmp/xy", Write: []string{"/tmp/x"}},
		{Dir: "/tmp/x", Write: []string{"/tmp/x"}, Network: true, Serve: func(net.Listener) {}},
		{Dir: "/tmp/x", Write: []string{"/tmp/x"}, Silent: true, Serve: func(net.Listener) {}},
	} {
		if _, err := sandbox.Command(t.Context(), s, "true"); fault.From(err).Code != "sandbox/spec" {
			t.Errorf("%v: %v", s.Dir, err)
		}
	}
	if _, err := sandbox.Command(t.Context(), sandbox.Spec{Dir: "/tmp/x", Write: []string{"/tmp/x"}}); fault.From(err).Code != "sandbox/spec" {
		t.Errorf("no command: %v", err)
	}
	if !there(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "gone")
	cmd, err := sandbox.Command(t.Context(), sandbox.Spec{Dir: dir, Write: []string{dir}}, "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != sandbox.ExitSetup {
		t.Errorf("a directory that is not there: %s", out)
	}
}

func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		cmd, err := sandbox.Command(b.Context(), sandbox.Spec{Dir: dir, Write: []string{dir}}, "/bin/true")
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
