package project

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// setContext sets values of an execution's context. What the process declares holds
// for them as at a submission; a value that files are named by stays, since files have
// that name already; and what a pattern sealed stays as it is.
func (d *decision) setContext(c *loomv1.SetContext) (*loomv1.Answer, error) {
	if err := d.mayTell(); err != nil {
		return nil, err
	}
	x, err := d.known(c.GetExecution())
	if err != nil {
		return nil, err
	}
	if !d.s.open[x.Id] {
		return nil, fault.New("override/ended", "execution %q has ended: nothing reads its context any more", x.Id).At("execution")
	}
	if err := d.s.ofSession(x.Bead, x.Definition); err != nil {
		return nil, fault.From(err).At("execution")
	}
	if err := d.checkValues(x, c); err != nil {
		return nil, err
	}
	if proto.Equal(workflow.WithValues(x.Context, c.Values), x.Context) {
		return submitted(x.Bead, x.Id, true), nil
	}
	defer d.about(x)()
	return submitted(x.Bead, x.Id, false), d.emit(&loomv1.Event{Fact: &loomv1.Event_ContextSet{ContextSet: &loomv1.ContextSet{Values: c.Values, Reason: c.Reason}}})
}

func (d *decision) checkValues(x *loomv1.Execution, c *loomv1.SetContext) error {
	if len(c.Values.GetFields()) == 0 {
		return fault.New("command/malformed", "there is no value to set").At("values")
	}
	if len(c.Reason) > MaxReason {
		return fault.New("command/malformed", "a reason has %d bytes", len(c.Reason)).At("reason").Want("at most %d bytes", MaxReason)
	}
	var errs []*fault.Error
	def := d.s.p.Definitions[x.DefinitionHash]
	named := verify.NamedBy(def)
	for _, key := range slices.Sorted(maps.Keys(c.Values.Fields)) {
		switch {
		case workflow.Reserved(key):
			errs = append(errs, fault.New("context/fixed", "the runtime writes this value itself").At("context."+key))
		case slices.Contains(named, key) && !proto.Equal(c.Values.Fields[key], x.Context.GetFields()[key]):
			errs = append(errs, fault.New("context/fixed", "files of this work are named by it").At("context."+key).Want("new work, with that value"))
		}
	}
	next := workflow.WithValues(x.Context, c.Values)
	errs = append(errs, checkContext(next)...)
	errs = append(errs, verify.Parameters(def, submittedPart(next))...)
	return fault.Join(errs)
}

// submittedPart is a context without what the runtime writes into it.
func submittedPart(c *structpb.Struct) *structpb.Struct {
	part := &structpb.Struct{Fields: maps.Clone(c.GetFields())}
	maps.DeleteFunc(part.Fields, func(key string, _ *structpb.Value) bool { return workflow.Reserved(key) })
	return part
}
