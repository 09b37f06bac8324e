package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var minuteOf = flag.Duration("chaos.minute", 0, "how long eight agents of two hosts are given work to commit while their hosts are struck; 0 is a few orders")

// minute is a fleet whose agents commit to one repository.
type minute struct {
	*fleet
	repository, base string
	ledger           string // of the commit hook
	next             atomic.Int64
	until            time.Time
}

// few is how many orders there are at least; each strike is followed by others.
const few = 6

// TestLOCK01_P6_AMinute has eight agents of two hosts commit to one repository,
// while a host is killed or stopped for longer than the commit lock lasts,
// whenever one of its agents is in the middle of a commit. In the end there is
// exactly one commit for each change that was ordered, under a token that was
// granted; tokens rise along the target; and the repository's hooks have run on
// every commit.
func TestLOCK01_P6_AMinute(t *testing.T) {
	m := &minute{fleet: newFleet(t, false)}
	m.process = "landing"
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m.crowded(program)
	for _, p := range m.places {
		p.env = append(p.env, minuteHost+"=1")
	}
	m.repository, m.ledger = filepath.Join(m.places[0].dir, "repositories", crowd), filepath.Join(m.places[0].dir, "hooked")
	m.base = git(t, m.repository, "rev-parse", "main")
	hook(t, m.repository, fmt.Sprintf("echo \"$(git write-tree) $PWD\" >> %q\n", m.ledger))
	for i := range fleetSize {
		m.begin(i)
	}
	m.serve()
	m.define()
	m.work()
	m.account()
}

// work has orders placed and hosts struck until the time is over and all is done.
func (m *minute) work() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), fleetPatience()+4**minuteOf)
	defer cancel()
	m.until = time.Now().Add(*minuteOf)
	var publishers sync.WaitGroup
	for range 3 {
		publishers.Go(func() { m.publish(ctx) })
	}
	for len(m.kills) < 2 || time.Now().Before(m.until) {
		m.strikeCommitter(ctx)
		if ctx.Err() != nil {
			break
		}
	}
	publishers.Wait()
	for m.closed(ctx) < int(m.filed.Load()) {
		if rest(ctx, 200*time.Millisecond); ctx.Err() != nil {
			m.t.Fatalf("%d of %d orders are done; host 0 says:\n%s", m.closed(m.t.Context()), m.filed.Load(), m.host(0).text())
		}
	}
}

// publish places orders, as fast as they are done.
func (m *minute) publish(ctx context.Context) {
	for ctx.Err() == nil {
		if m.next.Load() >= few && !time.Now().Before(m.until) {
			return
		}
		if int(m.next.Load())-m.closed(ctx) >= 2*committers {
			rest(ctx, 100*time.Millisecond)
			continue
		}
		m.order(ctx, int(m.next.Add(1)))
	}
}

// strikeCommitter waits for the next commit and kills the host that makes it, or
// stops it for longer than it has the lock. Without any, it strikes the next host.
func (m *minute) strikeCommitter(ctx context.Context) {
	m.t.Helper()
	before, victim := len(readHooked(m.ledger)), len(m.kills)%2
	for n := 0; n < 100 && ctx.Err() == nil; n++ {
		if now := readHooked(m.ledger); len(now) > before {
			victim = max(now[len(now)-1].host, 0)
			break
		}
		rest(ctx, 20*time.Millisecond)
	}
	k := kill{time.Now(), false, killed}
	if len(m.kills)%2 == 1 {
		k.how = slept
	}
	m.kills = append(m.kills, k)
	if k.how == slept {
		m.freeze(ctx, m.host(victim))
		return
	}
	m.host(victim).kill()
	m.begin(victim).serves()
}

// account holds journal, repository and the hook's ledger against each other.
func (m *minute) account() {
	t := m.t
	t.Helper()
	events := m.events(2, crowd)
	for _, problem := range grants(events) {
		t.Error(problem)
	}
	landed, tokens := m.journal(events)
	trees := map[string]bool{}
	for _, h := range readHooked(m.ledger) {
		trees[h.tree] = true
	}
	commits := map[string]string{} // by execution
	for _, line := range m.log("--branches") {
		oid, tree, token, x := line[0], line[1], line[2], line[3]
		if commits[x] != "" || landed[x] != oid {
			t.Errorf("%s has commit %s beside %q, and %q landed", x, oid, commits[x], landed[x])
		}
		commits[x] = oid
		if !tokens[token] || !trees[tree] {
			t.Errorf("commit %s of %s: its token %s was granted %t, hooks saw its tree %t", oid, x, token, tokens[token], trees[tree])
		}
	}
	if len(commits) != len(landed) || len(landed) != int(m.filed.Load()) {
		t.Errorf("%d orders, %d landed, %d commits", m.filed.Load(), len(landed), len(commits))
	}
	var last uint64
	for _, line := range m.log("main") {
		var token uint64
		if _, err := fmt.Sscan(line[2], &token); err != nil || token <= last {
			t.Errorf("commit %s has token %d after %d, %v", line[0], token, last, err)
		}
		last = token
	}
	m.whole()
	if aside := len(m.log("--branches")) - len(m.log("main")); aside == 0 && git(t, m.repository, "status", "--porcelain") != "" {
		t.Errorf("the checkout did not follow: %s", git(t, m.repository, "status", "--porcelain"))
	}
	t.Logf("%d orders, %d strikes %v, %d grants and places in trains, %d hooks ran; %d landed, %d commits on main of %d, none lost, none twice",
		m.filed.Load(), len(m.kills), m.struck(), len(tokens), len(readHooked(m.ledger)), len(landed), len(m.log("main")), len(commits))
}

// whole checks that the repository has no damage and no lock. A candidate of a
// landing that was killed stays until the next one of its bead.
func (m *minute) whole() {
	m.t.Helper()
	if out := git(m.t, m.repository, "fsck", "--full", "--strict", "--no-dangling"); out != "" {
		m.t.Errorf("git fsck:\n%s", out)
	}
	locks, err := filepath.Glob(filepath.Join(m.repository, ".git", "*.lock"))
	if err != nil || len(locks) > 0 {
		m.t.Errorf("locks are left over: %v, %v", locks, err)
	}
}

// journal returns the commit that landed for each execution, and every token that
// was granted.
func (m *minute) journal(events []*loomv1.Event) (landed map[string]string, tokens map[string]bool) {
	m.t.Helper()
	landed, tokens = map[string]string{}, map[string]bool{}
	for _, e := range events {
		switch f := e.Fact.(type) {
		case *loomv1.Event_LockGranted:
			tokens[fmt.Sprint(f.LockGranted.Token)] = true
		case *loomv1.Event_LockCoupled:
			tokens[fmt.Sprint(f.LockCoupled.Token)] = true
		case *loomv1.Event_Landed:
			if landed[e.Execution] != "" {
				m.t.Errorf("%s landed twice", e.Execution)
			}
			landed[e.Execution] = f.Landed.Landing.Commit
		}
	}
	return landed, tokens
}

// log lists the new commits of branches, the oldest first: commit, tree, token and
// execution.
func (m *minute) log(branches string) (list [][]string) {
	m.t.Helper()
	out := git(m.t, m.repository, "log", "--reverse", "--topo-order",
		"--format=%H %T %(trailers:key=Loom-Token,valueonly,separator=) %(trailers:key=Loom-Execution,valueonly,separator=)", branches, "^"+m.base)
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 4 {
			list = append(list, f)
		} else if len(f) > 0 {
			m.t.Errorf("a commit that is not Loom's: %q", line)
		}
	}
	return slices.Clip(list)
}
