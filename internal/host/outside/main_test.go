package outside

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/loomrun/loom/internal/agents/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.ServeIfAsked()
	goleak.VerifyTestMain(m)
}
