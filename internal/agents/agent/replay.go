package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Replayed is what became of one recorded turn.
type Replayed struct {
	Attempt  string `json:"attempt"`
	Role     string `json:"role"`
	Requests int    `json:"requests"`
	Calls    int    `json:"tool_calls"`
	// Outcome is how the turn ended; empty where the recording ends before it.
	Outcome string `json:"outcome,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// Replay goes through all turns of a recording as a host would, with the answers
// and results that were recorded in the place of models and tools: nothing is
// asked and nothing is run. It tells of each turn, and returns replay/departed
// where the first one asks something else than was recorded.
func Replay(ctx context.Context, rec *recording.Recording, set *roles.Set, tell func(Replayed)) error {
	var missing []string
	for _, name := range rec.Roles() {
		if _, ok := set.Get(name); !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fault.New("role/unknown", "the recording is of roles %s, of which there is no %s here", strings.Join(rec.Roles(), ", "), strings.Join(missing, " and no ")).
			Want("--roles DIR names the role files that it was made with")
	}
	for _, t := range rec.Turns {
		r, err := replayTurn(ctx, rec, set, t)
		if err != nil {
			return err
		}
		tell(r)
	}
	return nil
}

func replayTurn(ctx context.Context, rec *recording.Recording, set *roles.Set, t *recording.Turn) (Replayed, error) {
	said := Replayed{Attempt: t.Attempt, Role: t.Role}
	role, ok := set.Get(t.Role)
	if !ok {
		return said, fault.New("role/unknown", "there is no such role").At(t.Attempt).Got(t.Role)
	}
	node := &loomv1.NodeDefinition{}
	if err := protojson.Unmarshal(t.Node, node); err != nil {
		return said, fault.New("replay/invalid", "the node of a turn is not sound: %s", err).At(t.Attempt)
	}
	one := rec.Of(t.Attempt)
	if t.Architect == "" {
		role.Architect = 0
	}
	j := &job{
		Worker: &Worker{Model: one.Provider(), Roles: set, Blobs: &memory{}, Played: one, Logger: slog.New(slog.DiscardHandler)},
		brief: &loomv1.Brief{
			Attempt: &loomv1.Attempt{Id: t.Attempt, Node: node.Id, Role: t.Role}, Node: node,
			Bead: &loomv1.Bead{Id: t.Bead}, Execution: &loomv1.Execution{}, Project: &loomv1.ProjectConfig{},
		},
		seat: &stage{rec: one, attempt: t.Attempt}, role: role,
	}
	r, err := j.begin(ctx, t.Prompt, t.Without)
	if err != nil {
		return said, err
	}
	r.silent = true
	out, err := r.replay(ctx, one.Steps(t.Attempt))
	said.Requests, said.Calls = int(r.t.Iterations), calls(r.t)
	switch {
	case fault.Code(err) == "replay/ended":
		return said, nil
	case err != nil:
		return said, err
	}
	said.Outcome, said.Summary = outcomeWord(out), out.Summary
	return said, nil
}

func outcomeWord(o *loomv1.Outcome) string {
	return map[loomv1.OutcomeStatus]string{
		loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS: "success", loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE: "continue",
	}[o.Status] + map[bool]string{true: "failure"}[o.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE]
}

func calls(t *loomv1.Turn) (n int) {
	for _, s := range t.Steps {
		if s.GetTool() != nil {
			n++
		}
	}
	return n
}

// replay runs the turn after what the runtime did by itself before it.
func (r *run) replay(ctx context.Context, steps []*recording.Step) (*loomv1.Outcome, error) {
	if err := r.playRuntime(ctx, steps, 0); err != nil {
		return nil, err
	}
	return r.finish(ctx, tool.Workspace{})
}

// playRuntime makes the runtime's own calls anew that were made after so many
// answers.
func (r *run) playRuntime(ctx context.Context, steps []*recording.Step, answers uint32) error {
	for _, s := range steps {
		if !s.Runtime || s.Answers != answers {
			continue
		}
		call := &loomv1.ToolCall{Id: s.Call.ID, Tool: s.Call.Tool, Arguments: s.Call.Arguments}
		result, err := r.result(ctx, taped(s))
		if err != nil {
			return err
		}
		intent := &loomv1.ToolStep{Call: call, Class: loomv1.ToolClass_TOOL_CLASS_EXEC, Runtime: true}
		err = r.record(ctx,
			turn.IntendedFact(intent),
			turn.FinishedFact(call.Id, result))
		if err != nil {
			return err
		}
	}
	return nil
}

// stage is the seat of a turn that is played: it keeps the turn, and has people
// say again what they said.
type stage struct {
	actors.Seat
	rec     *recording.Recording
	attempt string
	t       *loomv1.Turn
}

func (s *stage) Record(ctx context.Context, records ...*loomv1.Event) error {
	if s.t == nil {
		s.t = &loomv1.Turn{Attempt: s.attempt}
	}
	events, err := turn.Decide(s.t, records)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := turn.Apply(s.t, e); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *stage) Told() []*loomv1.Said {
	var list []*loomv1.Said
	for _, step := range s.rec.Steps(s.attempt) {
		said := &loomv1.Said{}
		if len(step.Said) > 0 && step.Answers == s.t.GetIterations() && protojson.Unmarshal(step.Said, said) == nil {
			list = append(list, said)
		}
	}
	return list
}

// Rest implements actors.Seat.
func (s *stage) Rest(context.Context) error { return nil }

func (s *stage) ParkForOperator(context.Context, *loomv1.ModelBlock) error { return nil }

func (s *stage) ParkUntil(context.Context, time.Time) error { return nil }

// memory keeps blobs for as long as a recording is played.
type memory struct{ blobs sync.Map }

func (m *memory) Put(_ context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
	sum := sha256.Sum256(data)
	ref := &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(data)), MediaType: mediaType}
	m.blobs.Store(ref.Sha256, data)
	return ref, nil
}

func (m *memory) Get(_ context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	data, ok := m.blobs.Load(ref.GetSha256())
	if !ok {
		return nil, fault.New("blob/missing", "no blob %q", ref.GetSha256())
	}
	return data.([]byte), nil
}
