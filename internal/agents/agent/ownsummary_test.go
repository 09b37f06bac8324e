package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// summarizes is a model that works by a script and writes summaries by another.
type summarizes struct {
	model.Provider
	summary func() (*model.Response, error)
	asked   *[]*model.Request
}

func (s summarizes) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	if !strings.Contains(r.Messages[0].Text, "## Summarise your work so far") {
		return s.Provider.Ask(ctx, r, f)
	}
	*s.asked = append(*s.asked, r)
	answer, err := s.summary()
	if err != nil {
		return nil, err
	}
	if answer, err = model.Clean(r, answer); err != nil {
		return nil, model.Spent(err, &loomv1.Usage{InputTokens: 10, CostMicroUsd: 20, CostKnown: true})
	}
	return answer, nil
}

const ownWords = "I was asked to read ten files. f1.txt:1 says 1. Nothing failed. Next is the file after."

func inOwnWords() (*model.Response, error) {
	return &model.Response{Text: ownWords, Stop: model.StopEnd}, nil
}

// summarizing is a crowded bench whose model is paid and is asked for summaries.
func summarizing(t *testing.T, summary func() (*model.Response, error)) (*bench, *[]*model.Request) {
	b, asked := crowded(t), &[]*model.Request{}
	b.worker.Model = b.asks.count(paid{summarizes{b.asks.Provider, summary, asked}})
	return b, asked
}

func compactions(t *loomv1.Turn) (list []*loomv1.Compaction) {
	for _, s := range t.GetSteps() {
		if c := s.GetCompacted(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// answeredOnes are the compactions for which the model was asked, and answered.
func answeredOnes(all []*loomv1.Compaction) (list []*loomv1.Compaction) {
	for _, c := range all {
		if c.Answer != nil {
			list = append(list, c)
		}
	}
	return list
}

func reader() *loomv1.Brief { return brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED) }

// Where budgets leave room, the model writes the summary that it goes on with: of
// whole results, in one call without tools that is reserved and counted like any
// other. It is asked again after 4 answers more, however often the turn is compacted:
// until then it goes on with what it wrote. What the record has follows it, and what
// was asked for last is there whole.
func TestAGENT03_TheModelSummarisesItsTurn(t *testing.T) {
	b, asked := summarizing(t, inOwnWords)
	b.must(reader())
	all := compactions(b.seat.turn)
	list := answeredOnes(all)
	if len(list) < 2 || len(*asked) != len(list) || len(list)*3 > len(all) {
		t.Fatalf("%d summaries are asked for in %d compactions, %d have an answer", len(*asked), len(all), len(list))
	}
	var own uint32
	for i, c := range all {
		if c.Answer != nil {
			if own > 0 && c.Answers < own+4 {
				t.Errorf("compaction %d: asked after %d answers, and after %d", i, own, c.Answers)
			}
			own = c.Answers
		}
		text, err := b.worker.Blobs.Get(t.Context(), c.Summary)
		if want := fmt.Sprintf("of your first %d answers", own); err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), ownWords) {
			t.Errorf("compaction %d of %d answers: %v; %q is not in\n%s", i, c.Answers, err, want, text)
		}
	}
	for i, c := range list {
		q, a := (*asked)[i], c.GetAnswer()
		if len(q.Tools) != 0 || len(q.Messages) != 1 || a.GetRequest() != q.Digest() || a.GetUsage().GetCostMicroUsd() != 20 || a.GetModel() != "test:paid" || a.GetProblem() != "" {
			t.Errorf("compaction %d: %d tools, answer %v", i, len(q.Tools), a)
		}
		reserved := 0
		for _, r := range b.seat.reserved {
			if r.Request == q.Digest() && r.Optional {
				reserved++
			}
		}
		if reserved != 1 {
			t.Errorf("compaction %d: reserved %d times", i, reserved)
		}
	}
	for _, want := range []string{"Result of c1-1:\n     1\tfile 1\n", "You called c1-1, file_read:", "id: shop-1"} {
		if text := (*asked)[0].Messages[0].Text; !strings.Contains(text, want) {
			t.Errorf("the first question lacks %q:\n%s", want, text)
		}
	}
	for _, want := range []string{ownWords, fmt.Sprintf("Result of c%d-1:\n     1\tfile %[1]d\n", list[0].Answers+1)} {
		if text := (*asked)[1].Messages[0].Text; !strings.Contains(text, want) {
			t.Errorf("the second question lacks %q:\n%s", want, text)
		}
	}
	first, last := b.asks.last.Messages[0].Text, b.asks.last.Messages[len(b.asks.last.Messages)-1].Text
	for _, want := range []string{"<data>\n" + ownWords + "\n</data>\n## So far\n", "- c1-1 file_read"} {
		if !strings.Contains(first, want) {
			t.Errorf("the last request begins without %q:\n%s", want, first)
		}
	}
	if !strings.Contains(last, "file 9\n") || strings.Contains(last, "left out") {
		t.Errorf("what was asked for last is not whole:\n%s", last)
	}
}

// A summary that cannot be had, or is of no use, is taken from the record: the turn
// goes on as one whose model is never asked.
func TestAGENT03_WithoutTheModelTheSummaryIsOfTheRecord(t *testing.T) {
	longtest.Skip(t)
	answer := func(text string, stop model.Stop) func() (*model.Response, error) {
		return func() (*model.Response, error) { return &model.Response{Text: text, Stop: stop}, nil }
	}
	for name, tt := range map[string]struct {
		summary func() (*model.Response, error)
		change  func(*bench, *roles.Role)
		asked   bool
		problem string
	}{
		"the call fails":       {func() (*model.Response, error) { return nil, fault.New("model/unavailable", "away") }, nil, true, ""},
		"the model refuses":    {func() (*model.Response, error) { return nil, fault.New("model/refused", "no") }, nil, true, ""},
		"empty":                {answer(" ", model.StopEnd), nil, true, "empty"},
		"too long":             {answer(strings.Repeat("long ", 2000), model.StopEnd), nil, true, "have room"},
		"cut off":              {answer("so far I", model.StopLength), nil, true, "cut off"},
		"the role says so":     {inOwnWords, func(_ *bench, r *roles.Role) { r.Context.Summary = roles.SummaryOfRecord }, false, ""},
		"the role's budget":    {inOwnWords, func(_ *bench, r *roles.Role) { r.Limits.Tokens = 14_000 }, false, ""},
		"the project's budget": {inOwnWords, func(b *bench, _ *roles.Role) { b.seat.needed = true }, false, ""},
	} {
		t.Run("AGENT03 "+name, func(t *testing.T) {
			b, asked := summarizing(t, tt.summary)
			b.as("researcher", func(r *roles.Role) {
				r.Context.Window = 12_000
				if tt.change != nil {
					tt.change(b, r)
				}
			})
			out := b.must(reader())
			list := compactions(b.seat.turn)
			if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(list) == 0 || (len(*asked) > 0) != tt.asked {
				t.Fatalf("%v, %d compactions, asked %d times", out, len(list), len(*asked))
			}
			if tt.asked && tt.problem == "" && len(b.seat.settled) != len(*asked) {
				t.Errorf("%d calls without an answer, %d settled", len(*asked), len(b.seat.settled))
			}
			for _, c := range list {
				text, err := b.worker.Blobs.Get(t.Context(), c.Summary)
				if err != nil || !strings.HasPrefix(string(text), "## So far\n") {
					t.Errorf("%v; the summary is not of the record:\n%s", err, text)
				}
				if a := c.GetAnswer(); a != nil && (!strings.Contains(a.Problem, tt.problem) || a.Usage.GetCostMicroUsd() != 20) {
					t.Errorf("the answer is %v, want the problem %q", a, tt.problem)
				}
			}
			if n := len(answeredOnes(list)); tt.problem == "" && n != 0 || tt.problem != "" && n != len(*asked) {
				t.Errorf("%d compactions have an answer, and %d were asked for", n, len(*asked))
			}
		})
	}
}

// A later summary that is of no use leaves the turn with the one before.
func TestAGENT03_WhatTheModelWroteBeforeStands(t *testing.T) {
	n := 0
	b, asked := summarizing(t, func() (*model.Response, error) {
		if n++; n == 1 {
			return inOwnWords()
		}
		return nil, fault.New("model/unavailable", "away")
	})
	b.must(reader())
	all := compactions(b.seat.turn)
	if len(*asked) < 2 || len(answeredOnes(all)) != 1 {
		t.Fatalf("asked %d times, %d answers", len(*asked), len(answeredOnes(all)))
	}
	last, err := b.worker.Blobs.Get(t.Context(), all[len(all)-1].Summary)
	for _, want := range []string{fmt.Sprintf("of your first %d answers", all[0].Answers), ownWords, fmt.Sprintf("up to number %d ", all[len(all)-1].Answers)} {
		if err != nil || !strings.Contains(string(last), want) {
			t.Errorf("%v; the last summary lacks %q:\n%s", err, want, last)
		}
	}
}

// What is cut off between the model's summary and its record costs that one call:
// it is asked again, and the turn goes on with the same bytes.
func TestAGENT03_ASummaryIsAskedOnceUnlessItIsLost(t *testing.T) {
	longtest.Skip(t)
	whole, _ := summarizing(t, inOwnWords)
	whole.must(reader())
	for _, durable := range []bool{true, false} {
		for at := 2; at <= whole.seat.calls; at++ {
			b, _ := summarizing(t, inOwnWords)
			b.seat.cutAt, b.seat.durable = at, durable
			br := reader()
			if _, err := b.work(br); !errors.Is(err, errCut) {
				t.Fatalf("cut at %d: %v", at, err)
			}
			br.Turn = proto.CloneOf(b.seat.turn)
			b.must(br)
			again := 0
			for digest, n := range b.asks.by {
				if again += n - 1; whole.asks.by[digest] == 0 {
					t.Errorf("cut at %d: %.8s is asked, and not in the turn that was not cut", at, digest)
				}
			}
			if again > 1 || again > 0 && durable || len(b.asks.by) != len(whole.asks.by) {
				t.Errorf("cut at %d, durable %t: %d requests, and %d once more", at, durable, len(b.asks.by), again)
			}
		}
	}
}

// A recorded summary is played and not asked again; where the recording has none,
// because the call failed, the summary is taken from the record as it was then.
func TestAGENT02_ReplayPlaysSummaries(t *testing.T) {
	longtest.Skip(t)
	for name, summary := range map[string]func() (*model.Response, error){
		"a summary":  inOwnWords,
		"no summary": func() (*model.Response, error) { return nil, fault.New("model/unavailable", "away") },
		"no use":     func() (*model.Response, error) { return &model.Response{Text: "", Stop: model.StopEnd}, nil },
	} {
		t.Run("AGENT02 "+name, func(t *testing.T) {
			b, _ := summarizing(t, summary)
			_, rec := taped(t, b, reader())
			var all []agent.Replayed
			err := agent.Replay(t.Context(), rec, b.worker.Roles, func(r agent.Replayed) { all = append(all, r) })
			if err != nil || len(all) != 1 || all[0].Outcome != "success" || all[0].Requests != int(b.seat.turn.Iterations) {
				t.Errorf("%v, %v; want one turn of %d requests that succeeded", all, err, b.seat.turn.Iterations)
			}
		})
	}
}
