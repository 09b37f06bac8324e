package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// minuteHost is the variable that makes a host of a fleet one whose agents change
// files and commit: the first two do, and the third keeps the journal with them.
const minuteHost = "LOOM_CHAOS_MINUTE"

// committers is how many agents commit on each of the first two hosts.
const committers = 4

func beCommitter(c *host.Config) {
	c.Worker, c.Model = nil, scripted.New("minute", oneFile)
	c.Unsandboxed, c.Train, c.LockLease = true, 3, 4*time.Second
	c.Projects[0].Checks = []string{"test -s go.mod"}
	c.Agents = map[string]int{}
	for role := range crowdAgents {
		c.Agents[role] = 0
	}
	if filepath.Base(c.Data) == "data-2" {
		return
	}
	c.Agents["implementer"], c.Agents["qa-engineer"], c.Agents["engineering-manager"] = 2, 2, committers
}

// oneFile is a policy that writes the file of its order, and finds that every
// candidate is as it should be.
func oneFile(r *model.Request) (*model.Response, error) {
	var said strings.Builder
	answered := false
	for _, m := range r.Messages {
		answered = answered || m.Role == model.RoleAssistant
		said.WriteString(m.Text)
	}
	if n := number(said.String()); !answered && strings.Contains(said.String(), "\nnode: make\n") {
		return calls("file_write", map[string]any{"path": fmt.Sprintf("orders/%04d.txt", n), "content": describe(n) + "\n"})
	}
	return calls(turn.FinishName, map[string]any{"status": "success", "summary": "done", "notes": ""})
}

func calls(tool string, args map[string]any) (*model.Response, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return &model.Response{Calls: []*loomv1.ToolCall{{Tool: tool, Arguments: string(text)}}, Stop: model.StopTools}, nil
}

// hooked is a line of the ledger of a commit hook: what was to be committed, and
// on which host.
type hooked struct {
	tree string
	host int
}

// readHooked reads the ledger, without a line that is being written.
func readHooked(path string) (list []hooked) {
	data, _ := os.ReadFile(path) // there is none before the first commit
	for line := range strings.Lines(string(data)) {
		tree, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasSuffix(line, "\n") {
			continue
		}
		h := hooked{tree, -1}
		if _, rest, ok := strings.Cut(dir, "/data-"); ok {
			h.host = int(rest[0] - '0')
		}
		list = append(list, h)
	}
	return list
}
