package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// knowledgeHost is the variable that makes a host one of those on which processes that come
// with Loom are worked on, by the scripts of their own tests: the processes, each a project.
const knowledgeHost = "LOOM_CHAOS_KNOWLEDGE"

// study is a process that comes with Loom, and what is done to it here.
type study struct {
	process, test string
	// dies is the node at which the host that works there first is killed.
	dies string
	// anew is the node whose outcome has the rest planned anew, "" for none.
	anew string
}

var studies = []study{
	{process: "research-report", test: "four-day-week", dies: "synthesis", anew: "evidence-against"},
	{process: "competitive-intel", test: "invoicing", dies: "compare", anew: "research"},
	{process: "marketing-strategy", test: "invoicing", dies: "positioning", anew: "customer-segmentation"},
	{process: "investment-analysis", test: "harbour-tools", dies: "valuation"},
	{process: "consulting-engagement", test: "bakery", dies: "recommend"},
	{process: "due-diligence", test: "pumps", dies: "findings"},
	{process: "document-pipeline", test: "roof", dies: "render"},
	{process: "feature-delivery", test: "cart-limit", dies: "implement"},
}

// read returns a file of the process's test.
func (s study) read(end string) ([]byte, error) {
	return os.ReadFile(filepath.Join("..", "..", "processes", s.process, "test", s.test+end))
}

// given is the test itself.
func (s study) given() (*processes.Test, error) {
	data, err := s.read(".yaml")
	if err != nil {
		return nil, err
	}
	return processes.ParseTest(s.test+".yaml", data)
}

// beKnowledge makes a host one whose agents work on processes, by script. The first of three
// that comes to the node of a process at which one dies says so, and says nothing more.
func beKnowledge(dir string, c *host.Config) error {
	policies := map[string]scripted.Policy{}
	c.Projects = nil
	for _, s := range studies {
		if !strings.Contains(" "+os.Getenv(knowledgeHost)+" ", " "+s.process+" ") {
			continue
		}
		data, err := s.read(".script.yaml")
		if err != nil {
			return err
		}
		of, err := scripted.Parse(s.process, data)
		if err != nil {
			return err
		}
		policies[s.process] = s.holding(dir, c.Data, s.asking(of))
		c.Projects = append(c.Projects, host.Project{ID: s.process, Repository: filepath.Join(dir, "repositories", s.process)})
	}
	c.Worker, c.Agents, c.Unsandboxed, c.Processes = nil, nil, true, processes.Builtin(roles.Builtin())
	c.Model = scripted.New("studies", func(r *model.Request) (*model.Response, error) {
		if bead := beadLine.FindStringSubmatch(r.Messages[0].Text); bead != nil && policies[bead[1]] != nil {
			return policies[bead[1]](r)
		}
		for _, of := range policies { // a second judge is told of no bead, and its node is of one study
			if resp, err := of(r); err == nil {
				return resp, nil
			}
		}
		return nil, fmt.Errorf("a prompt of no study: %.200s", r.Messages[0].Text)
	})
	return nil
}

var (
	beadLine = regexp.MustCompile(`(?m)^id: ([a-z-]+)-\d+$`)
	nodeLine = regexp.MustCompile(`(?m)^node: (\S+)$`)
)

// nodeOf is the node that a prompt is for.
func nodeOf(r *model.Request) string {
	if node := nodeLine.FindStringSubmatch(r.Messages[0].Text); node != nil {
		return node[1]
	}
	return ""
}

// heldBy is the file in which the host that is to die says that it is in the middle of it.
func (s study) heldBy(dir string) string { return filepath.Join(dir, "held-"+s.process) }

// holding has the model of the first host that comes so far give no second answer at the
// node: a tool has been called by then.
func (s study) holding(dir, data string, of scripted.Policy) scripted.Policy {
	return func(r *model.Request) (*model.Response, error) {
		if nodeOf(r) != s.dies || len(r.Messages) == 1 {
			return of(r)
		}
		f, err := os.OpenFile(s.heldBy(dir), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return of(r)
		}
		if err != nil {
			return nil, err
		}
		if _, err := f.WriteString(filepath.Base(data)); err != nil {
			return nil, err
		}
		select {} // until the host is killed
	}
}

// asking has the outcome of a node ask for another plan.
func (s study) asking(of scripted.Policy) scripted.Policy {
	return func(r *model.Request) (*model.Response, error) {
		resp, err := of(r)
		if err != nil || s.anew == "" || nodeOf(r) != s.anew {
			return resp, err
		}
		for _, c := range resp.Calls {
			var a map[string]any
			if c.Tool != turn.FinishName || json.Unmarshal([]byte(c.Arguments), &a) != nil {
				continue
			}
			fields, is := a["fields"].(map[string]any)
			if !is {
				fields = map[string]any{}
			}
			fields["replan"] = "what was found is not what the plan goes by"
			a["fields"] = fields
			text, err := json.Marshal(a)
			if err != nil {
				return nil, err
			}
			c.Arguments = string(text)
		}
		return resp, nil
	}
}
