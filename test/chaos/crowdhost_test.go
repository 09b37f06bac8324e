package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// crowdHost is the variable that makes this program a host with agents that
// answer at once, on the place whose directory it names.
const crowdHost = "LOOM_CHAOS_CROWD"

// crowdVersion is the variable that makes such a host one of another release,
// with a kind of event that earlier ones do not read: that a role is scaled.
const crowdVersion = "LOOM_CHAOS_VERSION"

// nextFormat is what a host of another release reads.
var nextFormat = format.Build{Reads: format.Newest + 1, Kinds: map[string]uint32{
	"role-scaled": format.Newest + 1,
}}

// crowd is the project of hosts with instant agents.
const crowd = "crowd"

// crowdAgents is how many agents each role has.
var crowdAgents = map[string]int{
	"qa-engineer": 6, "backend-engineer": 6, "web-designer": 3, "implementer": 3, "lead": 2,
	"researcher": 0, "architect": 0, "project-manager": 0, "engineering-manager": 0,
}

// servesAgain is what such a host says when it was spent and another one serves.
const servesAgain = "serves again"

// runCrowdHost is a host until it is told to stop. It returns the exit status.
func runCrowdHost(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := hostCrowd(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "loom:", err)
		return 1
	}
	return 0
}

func hostCrowd(ctx context.Context, dir string) error {
	ledger, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	level := slog.LevelWarn
	if os.Getenv(fleetHost) != "" {
		level = slog.LevelInfo // it tells when a host took another's place
	}
	config := host.Config{
		Data: filepath.Join(dir, "data"), CEOKey: filepath.Join(dir, "ceo.nk"), Listen: "127.0.0.1:0",
		Model: scripted.New("instant", nil), Worker: instant{ledger}, Agents: crowdAgents, SnapshotEvery: 500,
		Projects: []host.Project{{ID: crowd, Repository: filepath.Join(dir, "repositories", crowd)}},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	}
	if version := os.Getenv(crowdVersion); version != "" {
		host.Version, config.Format = version, nextFormat
	}
	if err := joinFleet(dir, &config); err != nil {
		return err
	}
	if os.Getenv(knowledgeHost) != "" {
		if err := beKnowledge(dir, &config); err != nil {
			return err
		}
	}
	if os.Getenv(minuteHost) != "" {
		beCommitter(&config)
	}
	if os.Getenv(atOnceHost) != "" {
		beLander(&config)
	}
	if os.Getenv(teamHost) != "" {
		beTeam(&config)
	}
	return host.Run(ctx, config, func(_ *host.Host, again bool) {
		if again {
			fmt.Fprintln(os.Stderr, servesAgain)
			return
		}
		fmt.Fprintln(os.Stderr, "Ctrl-C stops")
	})
}

// instant is an agent that answers at once, after a line in its ledger.
type instant struct{ ledger *os.File }

// Work implements actors.Worker. What it answers follows from the order's
// number, the node and the attempt alone.
func (w instant) Work(_ context.Context, b *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
	a := b.Attempt
	if _, err := fmt.Fprintf(w.ledger, "%s %d\n", a.Id, a.Claimant.Epoch); err != nil {
		return nil, err
	}
	out := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "done"}
	n := number(b.Bead.Goal)
	switch {
	case b.Node.MultiDispatch && a.Number == 1 && has(n, "continue "+a.Node, 40):
		out.Status = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
	case a.Node == "work":
		quality := 2.0
		if a.Visit == 1 && has(n, "poor", 30) {
			quality = 1
		}
		out.Fields = &structpb.Struct{Fields: map[string]*structpb.Value{"quality": structpb.NewNumberValue(quality)}}
	case fails(n, a):
		out.Status, out.Summary = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, "not this time"
	}
	return out, nil
}

// fails says whether an attempt for an order fails.
func fails(n int, a *loomv1.Attempt) bool {
	switch a.Node {
	case "polish": // and never succeeds
		return has(n, "dull", 30)
	case "risky": // until the CEO grants more attempts
		return a.Number <= 2 && has(n, "risky", 12)
	case "review", "check": // until it is done again
		return a.Visit == 1 && has(n, a.Node, 15)
	}
	return false
}

var orderWords = regexp.MustCompile(`order (\d+)`)

// number is the number of the order that a goal, of its bead or of one that
// works for it, names.
func number(goal string) int {
	m := orderWords.FindStringSubmatch(goal)
	if m == nil {
		return -1
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// has says whether an order is one of so many of a hundred that have a trait.
func has(n int, trait string, percent uint32) bool {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", trait, n)
	return h.Sum32()%100 < percent
}
