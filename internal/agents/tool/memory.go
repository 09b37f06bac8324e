package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
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
		Name:        "memory_keep",
		Class:       writes,
		Description: "Remember what later work would have to find out again.",
		Schema: schema(`"type","text"`, `
			"type": {"type": "string", "description": "such as decision, error, constraint, risk"},
			"text": {"type": "string", "minLength": 1},
			"tags": {"type": "array", "items": {"type": "string"}},
			"confidence": {"type": "integer", "minimum": 1, "maximum": 100},
			"namespace": {"type": "string"},
			"from": {"type": "string", "description": "file or address, if the text is not your own"}`),
	},
	needs: remembered,
	run:   with(keepMemory),
	// To keep an entry again adds nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

type keepArguments struct {
	Type       string   `json:"type"`
	Text       string   `json:"text"`
	Tags       []string `json:"tags"`
	Confidence uint32   `json:"confidence"`
	Namespace  string   `json:"namespace"`
	From       string   `json:"from"`
}

func keepMemory(ctx context.Context, j job, a keepArguments) (Result, error) {
	e := &loomv1.MemoryEntry{Type: plain(a.Type), Text: plain(a.Text), Confidence: a.Confidence, Namespace: plain(a.Namespace)}
	for _, tag := range a.Tags {
		e.Tags = append(e.Tags, plain(tag))
	}
	switch from := plain(a.From); {
	case strings.Contains(from, "://"):
		e.Sources = []*loomv1.MemorySource{{Address: from}}
	case from != "":
		e.Sources = []*loomv1.MemorySource{{File: from}}
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
		Description: "Find what is remembered.",
		Schema:      schema(``, `"text": {"type": "string"}, "type": {"type": "string"}, "tag": {"type": "string"}`),
	},
	needs: remembered,
	run:   with(searchMemory),
}

// searchTokens bounds what a search shows.
const searchTokens = 1000

type recallArguments struct {
	Text string `json:"text"`
	Type string `json:"type"`
	Tag  string `json:"tag"`
}

func searchMemory(ctx context.Context, j job, a recallArguments) (Result, error) {
	q := &loomv1.OfferMemory{Text: plain(a.Text), Tokens: searchTokens}
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
