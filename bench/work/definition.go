package main

import (
	"context"
	_ "embed"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// definition is the workflow of work W.
const definition = "work-w"

//go:embed work-w.yaml
var file []byte

// define gives the project the workflow, by the CEO's command.
func (p *peer) define(ctx context.Context) error {
	def, err := processes.Parse("work-w.yaml", file, roles.Builtin())
	if err != nil {
		return err
	}
	cmd, err := p.key.Define(p.deployment, projectID, &loomv1.ChangeDefinition{Definition: def, Reason: "the workflow of the benchmark"})
	if err != nil {
		return err
	}
	if err := p.ceo.Present(ctx, "define", cmd); err != nil {
		return fault.New("definition/invalid", "the workflow was not taken").Because(err)
	}
	return nil
}
