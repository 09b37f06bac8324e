package simulation

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
)

var (
	first    = flag.Uint64("seed", 1, "the first seed")
	seeds    = flag.Uint64("seeds", defaultSeeds, "how many seeds to run")
	lasting  = flag.Duration("for", 0, "run seeds for so long, however many they are")
	trace    = flag.Bool("trace", false, "print everything that happens with the first seed, or with the file of -replay")
	small    = flag.Bool("shrink", true, "make the first failing run smaller and keep it in the corpus")
	failures = flag.Uint64("failures", 5, "stop after so many failing seeds")
	replay   = flag.String("replay", "", "a file of the corpus to run instead of seeds")
)

// sometimes is what must be seen, at least once for each thousand seeds.
var sometimes = []string{
	"acknowledgement lost, append was in", "append lost, it was out", "append landed late", "crash before an append",
	"crash after an append", "restart from nothing", "restart from a snapshot", "ended work in segments", "several commands in one batch",
	"command came twice", "duplicate submission", "same error again",
	"assignment lost", "assignment twice", "sweep found an assignment",
	"claim refused: attempt/stale", "claim refused: attempt/claimed", "claim refused: attempt/own-work",
	"answer refused: attempt/stale", "answer repeated", "claimed with an answer", "lie refused", "host started again", "host start repeated", "turn resumed",
	"parked", "unparked", "parked for a rate limit", "escalation: model/rate-limited", "lock taken by the CEO", "order refused: lock/stale", "lock queue of two", "lock lapsed and granted to the next", "lock taken over by the attempt's next agent",
	"renewal refused: lock/stale", "late token refused by git", "target moved", "fresh candidate for a target that moved", "landing found again",
	"approval refused: approval/digest", "approval refused: approval/signature", "approval refused: approval/identity",
	"approval refused: approval/decided", "approval refused: approval/replayed", "approval refused: approval/expired",
	"approval refused: approval/lapsed", "double click", "decision refused: graph/unknown-node", "decision refused: graph/self-loop", "decision refused: graph/cycle",
	"duplicate after the window", "approval lapsed by another patch", "verification fails three times, then the CEO",
	"closing during a step", "closing between steps", "pause during an attempt", "deadlines moved by a hold", "record refused: attempt/paused", "claim refused: attempt/paused", "lock refused: attempt/paused",
	"move back", "move forward", "order: close", "order: define", "order: pause", "order: resume", "order twice", "definition changed",
	"order refused: approval/expired", "order refused: approval/identity", "order refused: approval/replayed",
	"order refused: approval/signature", "order refused: override/ended", "order refused: override/invalid",
	"nothing left", "the target did not pass as it is", "child", "child fails", "child delivers", "left to the parent", "child tried again", "gate: block", "gate: fail", "gate: replan", "gate: skip", "gap", "halt", "failed", "aborted",
	"limit: budget/exhausted", "limit: deadline/passed", "limit lifted", "deadline set after one was lifted", "refused order presented again", "escalation: agent/none-live", "roles reported late",
	"blocked", "blocked bead freed", "bead changed", "reopened", "operator refused: bead/cycle", "operator refused: bead/running", "fork",
	"governor tripped: reported", "governor tripped: self-filed", "submission refused: storm/budget", "self-filed", "self-filed refused: storm/budget",
	"rework", "continue", "backoff", "timeout", "escalation", "escalation after a restart", "attempts granted", "approval lapsed",
	"plan adopted", "plan keeps what has begun", "planned anew", "unsound plan refused",
	"task given", "task done", "task failed", "task of a task", "waits for its team", "went on after its team", "question answered",
	"team refused: team/cycle", "team refused: team/depth", "team refused: team/limit", "team refused: team/invalid",
	"mail: question", "mail: note", "mail: answered", "mail: the runtime answers", "mail: not answered in time", "mail: news", "mail: heard", "team refused: team/deadlock", "team refused: team/unknown",
	"key enrolled", "key revoked", "change of the keys waits for another", "answer waits for another key", "one key twice", "decided by two keys",
	"vote ended", "vote ends early or with its time",
	"train", "landed with its train", "train with a culprit", "refused by a train", "train settled",
	"session opened", "a model asks", "question held back", "an answer is struck", "session sealed", "META validation stops a session", "money held back",
	"a step is handed out", "step ends: done", "step ends: failed", "step ends: timed_out", "step ends: cancelled", "a step keeps something",
	"commented", "redirected", "taken back", "tempo changed", "session refused: intent/outside", "session refused: intent/unsealed", "said again in a session",
	"something is not met", "gap of a session", "delivery failed", "outputs landed", "session ended",
	"session revised", "session aborted", "a draft is saved", "session taken up", "session run again",
	"way around primacy refused: submission: intent/unsealed", "way around primacy recorded: fork", "way around primacy recorded: reopen", "a way around primacy by a child",
	"order refused: intent/phase", "way around primacy refused: message: intent/phase", "way around primacy refused: context: intent/unsealed",
	"set aside", "work after the end", "landed", "landing settled", "no landing settled", "completed", "rejected",
}

// TestWF10_Simulation covers WF03 to WF12, GRAPH03, LOCK01, ACT04, P5 to P10
// and P21 on one project, as far as cores can keep them.
func TestWF10_Simulation(t *testing.T) {
	longtest.Skip(t)
	if *trace || *replay != "" {
		one(t)
		return
	}
	var until time.Time
	if *lasting > 0 {
		until = time.Now().Add(*lasting)
	}
	all := newTally()
	var failed []result
	for r := range runAll(*first, *seeds, until) {
		all.add(r)
		if r.failure != "" {
			failed = append(failed, r)
			t.Errorf("seed %d: %s\nreplay: go test ./test/simulation -run Simulation -args -seed %d -trace", r.recipe.Seed, r.failure, r.recipe.Seed)
		}
	}
	t.Log(all)
	if len(failed) > 0 && !*small {
		return
	}
	if len(failed) > 0 {
		t.Log(shrunk(failed[0], shrinkFor))
		return
	}
	checkSeen(t, all)
}

// one runs a single recipe and tells all that happens.
func one(t *testing.T) {
	r := recipe{Seed: *first}
	if *replay != "" {
		r = readRecipe(t, *replay)
	}
	tell := func(line string) { fmt.Println(line) }
	if !*trace {
		tell = nil
	}
	if out := run(r, tell); out.failure != "" {
		t.Fatal(out.failure)
	}
}

// checkSeen wants what must be seen: ten times each in a long run, and in a
// shorter one in proportion.
func checkSeen(t *testing.T, all *tally) {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(all.saw)) {
		lines = append(lines, fmt.Sprintf("%s: %d", what, all.saw[what]))
	}
	t.Log(strings.Join(lines, "; "))
	least := min(10, all.seeds/1000)
	for _, what := range sometimes {
		if all.saw[what] < least {
			t.Errorf("in %d seeds there was %d times: %s; want at least %d", all.seeds, all.saw[what], what, least)
		}
	}
}

// TestP21_SeedIsTheRun runs seeds twice: nothing but the seed decides.
func TestP21_SeedIsTheRun(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(3 * carefulEvery) {
		var a, b strings.Builder
		run(recipe{Seed: seed}, func(line string) { a.WriteString(line + "\n") })
		run(recipe{Seed: seed}, func(line string) { b.WriteString(line + "\n") })
		if a.String() != b.String() || a.Len() == 0 {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}
