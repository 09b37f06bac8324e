package scripted

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
)

// Demo is the policy "scripted:demo": three members of a team that mend a Go
// module whose failing test is about the very edge of a comparison. It runs
// the tests, finds the function that the failing test names, reads it, and
// looks for a comparison whose two sides are equal in the failing call. It
// knows no repository and no patch; where it finds no such comparison, or the
// tests still fail afterwards, it says so and fails.
func Demo(r *model.Request) (*model.Response, error) {
	c := read(r)
	switch c.node {
	case "triage":
		return triage(c), nil
	case "investigate":
		return investigate(c), nil
	case "verify":
		return verify(c), nil
	}
	return c.finish("failure", fmt.Sprintf("the demo policy has nothing to do at %q", c.node), "", nil), nil
}

// allTests is the command that shows whether the module is sound.
const allTests = "go test ./..."

// triage runs the tests and judges what it saw.
func triage(c *conversation) *model.Response {
	ran, _, ok := c.latest("shell", allTests, 0)
	switch {
	case !ok:
		return c.say("I run the tests to see whether the report can be reproduced.", c.shell(allTests))
	case testsPass(ran.text):
		return c.finish("success", "all tests pass; there is nothing to mend", "",
			map[string]any{"severity": "none", "specialist": "", "check": ""})
	case !testsFail(ran.text):
		return c.finish("failure", "the tests could not be run", firstLines(ran.text, 5), nil)
	}
	seen := observation(ran.text)
	if _, _, ok := c.latest("decision_log", seen, 0); !ok && c.offers("decision_log") {
		return c.say("The failure is real. I record what I saw.",
			c.decide("observation", seen, failingLines(ran.text), 95))
	}
	return c.finish("success", "reproduced: "+seen, failingLines(ran.text),
		map[string]any{"severity": "high", "specialist": "backend-engineer", "check": allTests})
}

// observation is one line on what failed.
func observation(output string) string {
	if f := failures(output); len(f) > 0 {
		return fmt.Sprintf("%s fails: %s", f[0].test, f[0].line)
	}
	for line := range strings.Lines(output) {
		if testsFail(line) {
			return "the tests fail: " + strings.TrimSpace(line)
		}
	}
	return "the tests fail"
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(len(lines), n)], "\n")
}

var checkLine = regexp.MustCompile(`(?m)^(passed|failed \(exit -?\d+\)): (.*)$`)

// verify looks at what was changed and at how the required checks ended.
func verify(c *conversation) *model.Response {
	if path := changedPath(c); path != "" && c.offers("file_read") {
		if _, _, ok := c.latest("file_read", path, 0); !ok {
			return c.say("I read what was changed before I judge it.",
				c.call("file_read", map[string]any{"path": path}), c.call("decision_query", map[string]any{}))
		}
	}
	passed, failed := checks(c)
	switch {
	case len(passed)+len(failed) == 0:
		return c.finish("failure", "no required check was run", "", map[string]any{"fault": "commit"})
	case len(failed) > 0:
		return c.finish("failure", "failed on the candidate: "+strings.Join(failed, ", "),
			failingLines(c.sections["Checks"]), map[string]any{"fault": "change"})
	}
	seen := "verified on the candidate: " + strings.Join(passed, ", ")
	if _, _, ok := c.latest("decision_log", seen, 0); !ok && c.offers("decision_log") {
		return c.say("Every required check passed. I record that.",
			c.decide("outcome", seen, "", 95, to("follows", decisionPrefix, "", c.recorded())...))
	}
	return c.finish("success", seen, "", map[string]any{"fault": ""})
}

// checks returns the required commands by how they ended.
func checks(c *conversation) (passed, failed []string) {
	for _, m := range checkLine.FindAllStringSubmatch(c.sections["Checks"], -1) {
		if m[1] == "passed" {
			passed = append(passed, m[2])
		} else {
			failed = append(failed, m[2])
		}
	}
	return passed, failed
}

var changedFile = regexp.MustCompile(`(?m)^(?:added|modified) "([^"]+)"`)

func changedPath(c *conversation) string {
	if m := changedFile.FindStringSubmatch(c.sections["Proposed change"]); m != nil {
		return m[1]
	}
	return ""
}
