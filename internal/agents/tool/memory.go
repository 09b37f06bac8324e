package tool

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Memory is what the project remembers, as far as tools use it.
type Memory interface {
	// Keep keeps an entry for the work at hand. The request is the id of the tool call,
	// unique within the turn: keeping it again must add nothing.
	Keep(ctx context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error)
	// Search finds what the work at hand may read. It records nothing.
	Search(ctx context.Context, q *loomv1.OfferMemory) (*loomv1.MemoryContext, error)
}

var memoryKeep = &tool{
	Spec: Spec{
		Name:  "memory_keep",
		Class: writes,
		Description: "Remember something that later work would otherwise find out again: a fact, a constraint, a choice, a failure and its cause. " +
			"One statement an entry, understood without this conversation.",
		Schema: schema(`"type","text"`, `
			"type": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,31}$", "description": "`+strings.Join(memory.BuiltinTypes, ", ")+`, or one of the process"},
			"text": {"type": "string", "minLength": 1, "maxLength": 65536},
			"tags": {"type": "array", "maxItems": 16, "items": {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"}},
			"confidence": {"type": "integer", "minimum": 1, "maximum": 100, "description": "default 70; from that on it outlasts work that succeeds"},
			"namespace": {"type": "string", "maxLength": 47, "description": "shared/NAME, to share it with other projects"},
			"contradicts": {"type": "array", "maxItems": 16, "items": {"type": "string", "pattern": "^m[1-9][0-9]{0,8}$"}},
			"from_file": {"type": "string", "maxLength": 300, "description": "the text is a file's and not your own"},
			"from_address": {"type": "string", "maxLength": 2000, "description": "the text is a page's and not your own"}`),
	},
	needs: remembered,
	run:   with(keepMemory),
	// To keep an entry again adds nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

type keepArguments struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Tags        []string `json:"tags"`
	Confidence  uint32   `json:"confidence"`
	Namespace   string   `json:"namespace"`
	Contradicts []string `json:"contradicts"`
	FromFile    string   `json:"from_file"`
	FromAddress string   `json:"from_address"`
}

func keepMemory(ctx context.Context, j job, a keepArguments) (Result, error) {
	e := &loomv1.MemoryEntry{
		Type: a.Type, Text: plain(a.Text), Tags: a.Tags, Confidence: a.Confidence, Namespace: plain(a.Namespace), Contradicts: a.Contradicts,
	}
	if a.FromFile != "" || a.FromAddress != "" {
		e.Sources = []*loomv1.MemorySource{{File: plain(a.FromFile), Address: plain(a.FromAddress)}}
	}
	kept, err := j.ws.Memory.Keep(ctx, j.id, e)
	if err != nil {
		return Result{}, err
	}
	text := "kept as " + kept.GetId()
	if kept.GetCount() > 1 {
		text = fmt.Sprintf("%s says that already, %d times now", kept.Id, kept.Count)
	}
	if kept.GetTrust() == loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED {
		text += "; it is untrusted, and ends with this work unless a person vouches for it"
	}
	if others := kept.GetContradicts(); len(others) > 0 {
		text += "; it contradicts " + strings.Join(others, ", ")
	}
	return done(text+"\n", "%s: %s %q", kept.GetId(), a.Type, a.Text), nil
}

var memorySearch = &tool{
	Spec: Spec{
		Name:        "memory_search",
		Class:       reads,
		Description: "Find what earlier work left in the memory, best first; without words, the newest.",
		Schema: schema(``, `
			"text": {"type": "string", "maxLength": 1000},
			"type": {"type": "string", "maxLength": 32},
			"tag": {"type": "string", "maxLength": 64},
			"tokens": {"type": "integer", "minimum": 50, "maximum": 8000, "description": "default 1000"}`),
	},
	needs: remembered,
	run:   with(searchMemory),
}

type recallArguments struct {
	Text   string `json:"text"`
	Type   string `json:"type"`
	Tag    string `json:"tag"`
	Tokens uint32 `json:"tokens"`
}

func searchMemory(ctx context.Context, j job, a recallArguments) (Result, error) {
	q := &loomv1.OfferMemory{Text: a.Text, Tokens: cmp.Or(a.Tokens, 1000)}
	if a.Type != "" {
		q.Types = []string{a.Type}
	}
	if a.Tag != "" {
		q.WantedTags = []string{a.Tag}
	}
	found, err := j.ws.Memory.Search(ctx, q)
	if err != nil {
		return Result{}, err
	}
	text := found.GetText()
	switch {
	case text == "" && found.GetLeftOut() > 0:
		text = fmt.Sprintf("%d entries are found, and none fits into %d tokens\n", found.LeftOut, q.Tokens)
	case text == "":
		text = "nothing is remembered about that\n"
	case found.GetLeftOut() > 0:
		text += fmt.Sprintf("[%d more did not fit]\n", found.LeftOut)
	}
	return done(text, "%d entries", len(found.GetItems())), nil
}

func remembered(s *Set) *fault.Error {
	if s.ws.Memory != nil {
		return nil
	}
	return fault.New("tool/failed", "there is no memory here")
}
