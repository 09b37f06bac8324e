package agent_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// bench is a real repository and a worker over it.
type bench struct {
	t      testing.TB
	top    string
	data   string // of the host
	worker *agent.Worker
	repo   *agent.Repository
	asks   *asks
	seat   *seat
}

func newBench(t testing.TB, policy scripted.Policy, files ...git.File) *bench {
	t.Helper()
	b := &bench{t: t, top: filepath.Join(t.TempDir(), "shop"), asks: &asks{by: map[string]int{}}, seat: &seat{}}
	files = append(files, git.File{Path: "a.txt", Data: []byte("one\n")})
	if err := git.Create(t.Context(), b.top, "main", "first", files); err != nil {
		t.Fatal(err)
	}
	source, err := git.Open(t.Context(), b.top)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	b.data = data
	b.repo = &agent.Repository{Source: source}
	if b.repo.Workspaces, err = git.NewWorkspaces(data, "shop", "main", source); err != nil {
		t.Fatal(err)
	}
	if b.repo.Committer, err = git.NewCommitter(data, "shop", source); err != nil {
		t.Fatal(err)
	}
	b.worker = &agent.Worker{
		Model: b.asks.count(scripted.New("test", policy)), Roles: roles.Builtin(), Blobs: &blobs{},
		Repository: func(context.Context, *loomv1.ProjectConfig) (*agent.Repository, error) { return b.repo, nil },
		Exec:       func(string, roles.Role, string) tool.Policy { return tool.Policy{Allow: true} }, Scratch: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Servers: []tool.LanguageServer{}, // whatever is installed here
	}
	return b
}

// brief describes an attempt of a role.
func brief(role string, kind loomv1.NodeKind) *loomv1.Brief {
	return &loomv1.Brief{
		Attempt: &loomv1.Attempt{Id: "shop-1-x1-a1", Node: "work", Visit: 1, Number: 1, Role: role, Deadline: timestamppb.New(time.Date(2100, 1, 2, 12, 0, 0, 0, time.UTC))},
		Node:    &loomv1.NodeDefinition{Id: "work", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: role, Kind: kind, MaxAttempts: 3, Outcome: map[string]string{"fault": "string"}},
		Bead:    &loomv1.Bead{Id: "shop-1", Goal: "mend it"}, Goal: "d1", Deployment: "dp-1", TimeLeft: durationpb.New(time.Hour),
		Execution: &loomv1.Execution{Id: "shop-1-x1", Bead: "shop-1", Nodes: map[string]*loomv1.NodeState{"work": {}}},
		Project:   &loomv1.ProjectConfig{Id: "shop", TargetBranch: "main"},
	}
}

func (b *bench) work(br *loomv1.Brief) (*loomv1.Outcome, error) {
	return b.worker.Work(b.t.Context(), br, b.seat)
}

func (b *bench) must(br *loomv1.Brief) *loomv1.Outcome {
	b.t.Helper()
	out, err := b.work(br)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := proto.Marshal(out); err != nil {
		b.t.Fatalf("the outcome has no encoding: %v", err)
	}
	return out
}

// call is a tool call that a policy makes.
func call(tool string, args map[string]any) *loomv1.ToolCall {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return &loomv1.ToolCall{Tool: tool, Arguments: string(data)}
}

func says(calls ...*loomv1.ToolCall) *model.Response {
	return &model.Response{Text: "so be it", Calls: calls, Stop: model.StopTools}
}

func finish(status string) *model.Response {
	return says(call(turn.FinishName, map[string]any{"status": status, "summary": "it is " + status, "notes": "", "fields": map[string]any{"fault": ""}}))
}

// answers returns how many answers a conversation has so far.
func answers(r *model.Request) (n int) {
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

// script answers with one response after the other.
func script(responses ...*model.Response) scripted.Policy {
	return func(r *model.Request) (*model.Response, error) {
		if n := answers(r); n < len(responses) {
			return responses[n], nil
		}
		return nil, errors.New("the script has ended")
	}
}

// asks counts what a model is asked.
type asks struct {
	model.Provider
	mu   sync.Mutex
	by   map[string]int
	last *model.Request
}

func (a *asks) count(p model.Provider) model.Provider { a.Provider = p; return a }

func (a *asks) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	a.mu.Lock()
	a.by[r.Digest()]++
	a.last = r
	a.mu.Unlock()
	return a.Provider.Ask(ctx, r, f)
}

// blobs keeps bytes by their digest.
type blobs struct{ m sync.Map }

func (b *blobs) Put(_ context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
	sum := sha256.Sum256(data)
	ref := &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(data)), MediaType: mediaType}
	b.m.Store(ref.Sha256, data)
	return ref, nil
}

func (b *blobs) Get(_ context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	data, ok := b.m.Load(ref.GetSha256())
	if !ok {
		return nil, fault.New("blob/missing", "no blob %q", ref.GetSha256())
	}
	return data.([]byte), nil
}

var errCut = errors.New("the host is dead")

// seat records a turn as a project does, until it is cut off.
type seat struct {
	full     func(*loomv1.MemoryEntry) bool // whether the memory takes no such entry
	turn     *loomv1.Turn
	records  int  // calls of Record that were durable
	cutAt    int  // the host dies at this call of Record; 0 is never
	durable  bool // it was durable before the host died
	calls    int
	token    uint64 // of the lock; 0 waits
	parked   int
	blocks   []*loomv1.ModelBlock // that it was parked for
	until    []time.Time          // of the rate limits that it was parked for
	released []uint64
	asked    []*loomv1.GraphRequest
	opened   []*loomv1.Ballot
	votes    []*loomv1.Vote
	say      map[int][]*loomv1.Said // what people say, by the call of Record that it is heard of
	told     []*loomv1.Said
	train    *loomv1.Train // nil is train/none
	cars     map[string]*loomv1.Car
	refuses  error                               // RecordTrain
	open     []string                            // last commits of trains
	arrived  []*loomv1.Landing                   // of trains that it was told of
	doubted  []*loomv1.OpenLanding               // commits that landed perhaps
	landings []*loomv1.SettleLanding             // that it was told of
	permits  map[string]loomv1.PermissionVerdict // by tool; without one a call waits
	wanted   []*loomv1.PermissionRequest
	team     []*loomv1.TeamCall
	order    []string // of decisions and calls to the team
	kept     []*loomv1.MemoryEntry
	keptAs   []string // the requests
	offers   []*loomv1.OfferMemory
	offered  *loomv1.MemoryContext
	replies  map[string]*loomv1.TeamReply
	reserved []*loomv1.CallReservation
	settled  []*loomv1.Usage
	verdict  loomv1.Verdict // on reservations; unset lets them through
	heard    []*loomv1.InterviewTurn
	answer   func(*loomv1.InterviewTurn) *loomv1.InterviewBrief // of the session to a turn of an interview
	needed   bool                                               // only calls that the work cannot do without are let through
}

func (s *seat) Told() []*loomv1.Said { return s.told }

func (s *seat) Record(ctx context.Context, recs ...*loomv1.Event) error {
	s.calls++
	if s.cutAt == s.calls && !s.durable {
		return errCut
	}
	if s.turn == nil {
		s.turn = &loomv1.Turn{Attempt: "shop-1-x1-a1"}
	}
	events, err := turn.Decide(s.turn, recs)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := turn.Apply(s.turn, e); err != nil {
			return err
		}
	}
	s.records++
	s.told = s.say[s.calls]
	if s.cutAt == s.calls {
		return errCut
	}
	return ctx.Err()
}

func (s *seat) Interview(_ context.Context, c *loomv1.InterviewTurn) (*loomv1.InterviewBrief, error) {
	s.heard = append(s.heard, c)
	return s.answer(c), nil
}

func (s *seat) AcquireLock(context.Context) (*loomv1.LockClaim, error) {
	now := time.Now()
	return &loomv1.LockClaim{Token: s.token, GrantedAt: timestamppb.New(now), Until: timestamppb.New(now.Add(5 * time.Minute)), OpenTrains: s.open, OpenLandings: s.doubted}, nil
}

func (s *seat) RenewLock(context.Context, uint64) error { return nil }

func (s *seat) ReleaseLock(_ context.Context, token uint64) error {
	s.released = append(s.released, token)
	return nil
}

func (s *seat) FormTrain(context.Context, uint64) (*loomv1.Train, error) {
	if s.train == nil {
		return nil, fault.New("train/none", "nobody rides")
	}
	return s.train, nil
}

func (s *seat) RecordTrain(_ context.Context, _ uint64, cars map[string]*loomv1.Car) error {
	s.cars = cars
	return s.refuses
}

func (s *seat) SettleTrain(_ context.Context, _ uint64, l *loomv1.Landing) error {
	s.arrived = append(s.arrived, l)
	return nil
}

func (s *seat) SettleLanding(_ context.Context, c *loomv1.SettleLanding) error {
	s.landings = append(s.landings, c)
	return nil
}

func (s *seat) Park(context.Context) error { s.parked++; return nil }

// Rest implements actors.Seat.
func (s *seat) Rest(context.Context) error { s.parked++; return nil }

func (s *seat) ParkForOperator(_ context.Context, block *loomv1.ModelBlock) error {
	s.blocks = append(s.blocks, block)
	return nil
}

func (s *seat) ParkUntil(_ context.Context, until time.Time) error {
	s.until = append(s.until, until)
	return nil
}

func (s *seat) Reserve(_ context.Context, r *loomv1.CallReservation) (loomv1.Verdict, error) {
	s.reserved = append(s.reserved, r)
	if r.Optional && s.needed {
		return loomv1.Verdict_VERDICT_WAIT, nil
	}
	return cmp.Or(s.verdict, loomv1.Verdict_VERDICT_GO), nil
}

func (s *seat) Settle(_ context.Context, request string, used *loomv1.Usage) error {
	s.settled = append(s.settled, used)
	return nil
}

func (s *seat) Permit(_ context.Context, calls []*loomv1.PermissionRequest) ([]*loomv1.Permit, error) {
	s.wanted = append(s.wanted, calls...)
	var list []*loomv1.Permit
	for _, c := range calls {
		p := &loomv1.Permit{Call: c.Call.Id, Verdict: loomv1.PermissionVerdict_PERMISSION_VERDICT_ASK, Reason: "said no"}
		if v, ok := s.permits[c.Call.Tool]; ok {
			p.Verdict = v
		}
		list = append(list, p)
	}
	return list, nil
}

func (s *seat) Team(_ context.Context, calls []*loomv1.TeamCall) ([]*loomv1.TeamReply, error) {
	s.team = append(s.team, calls...)
	var goals []string
	for _, c := range calls {
		goals = append(goals, c.GetGive().GetGoal())
	}
	s.order = append(s.order, "team:"+strings.Join(goals, ","))
	var list []*loomv1.TeamReply
	for _, c := range calls {
		r := &loomv1.TeamReply{Call: c.Call, Waits: true}
		if has := s.replies[c.Call]; has != nil {
			r = has
		}
		list = append(list, r)
	}
	return list, nil
}

func (s *seat) AddDecision(_ context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	s.order = append(s.order, "decision:"+c.Node.Title)
	return &loomv1.DecisionNode{Id: "d2"}, nil
}

func (s *seat) Ask(_ context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	s.asked = append(s.asked, q)
	return &loomv1.GraphReply{}, nil
}

func (s *seat) KeepMemory(_ context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error) {
	if s.full != nil && s.full(e) {
		return nil, fault.New("memory/full", "the project remembers 5 entries, and that is the most")
	}
	kept := proto.CloneOf(e)
	kept.Id, kept.Count = fmt.Sprintf("m%d", len(s.kept)+1), 1
	s.kept = append(s.kept, kept)
	s.keptAs = append(s.keptAs, request)
	return kept, nil
}

func (s *seat) OfferMemory(_ context.Context, c *loomv1.OfferMemory) (*loomv1.MemoryContext, error) {
	s.offers = append(s.offers, c)
	return s.offered, nil
}

func (s *seat) OpenBallot(_ context.Context, c *loomv1.OpenBallot) error {
	s.opened = append(s.opened, c.Ballot)
	return nil
}

func (s *seat) CastVote(_ context.Context, c *loomv1.CastVote) error {
	s.votes = append(s.votes, c.Vote)
	return nil
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
