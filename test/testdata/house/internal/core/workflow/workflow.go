package workflow

import (
	_ "github.com/nats-io/nats.go"

	_ "github.com/loomrun/loom/internal/agents/tool"
)

const work = "loom.v1.work.qa"

const digest = "loom.v1.approval"
