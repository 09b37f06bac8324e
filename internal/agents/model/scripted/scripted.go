// Package scripted stands in for a language model, and for it alone: a policy
// sees what a model would see and answers what a model could answer. Tools,
// tests, approvals and commits around it are real, and a policy that is lied
// to by a tool has no other source to know better.
//
// Policies are pure: the same conversation gives the same answer. They cost
// nothing, need no key, and are labelled "scripted:" wherever they show.
package scripted

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Policy answers a conversation. It keeps nothing between calls and does not
// change the request.
type Policy func(*model.Request) (*model.Response, error)

// policies is the list of policies written in Go.
var policies = map[string]Policy{
	"demo": Demo,
}

// Default is the policy of the bare name "scripted".
const Default = "demo"

// Named returns the policy of that name.
func Named(name string) (Policy, bool) {
	p, ok := policies[name]
	return p, ok
}

// Names returns the names of all policies, sorted.
func Names() []string {
	var names []string
	for name := range policies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New returns the policy as a provider named "scripted:NAME".
func New(name string, p Policy) model.Provider { return provider{"scripted:" + name, p} }

type provider struct {
	name   string
	policy Policy
}

func (p provider) Name() string   { return p.name }
func (p provider) Scripted() bool { return true }

// Ask answers by the policy. Its answer goes through the same checks as that
// of a real model, and its usage is nothing, known.
func (p provider) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	said, err := p.policy(r)
	if err != nil {
		return nil, fault.New("model/unavailable", "%s has no answer", p.name).Because(err)
	}
	answer, err := model.Clean(r, own(said)) // a policy may say the same to several
	if err != nil {
		return nil, err
	}
	answer.Usage = &loomv1.Usage{CostKnown: true}
	answer.Model = p.name
	if onChunk != nil {
		stream(answer, onChunk)
	}
	return answer, nil
}

// own copies a response, because it is changed by who gets it.
func own(said *model.Response) *model.Response {
	if said == nil {
		return nil
	}
	copied := *said
	copied.Calls = make([]*loomv1.ToolCall, len(said.Calls))
	for i, c := range said.Calls {
		copied.Calls[i] = proto.CloneOf(c)
	}
	return &copied
}

func stream(r *model.Response, onChunk func(model.Chunk)) {
	if r.Text != "" {
		onChunk(model.Chunk{Text: r.Text})
	}
	for _, c := range r.Calls {
		onChunk(model.Chunk{Tool: c.Tool})
	}
}
