package roles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// tools is the closed list of tools a role can name.
var tools = []string{
	"agent_list", "agent_stop", "agent_watch", "alpha_vantage", "apply_patch", "arxiv", "ask_user", "calculator", "chart_data",
	"comparison_matrix", "content_search", "data_analysis", "decision_ballot", "decision_log", "decision_query", "decision_vote",
	"delegate_task", "directory_list", "document_write", "file_edit", "file_read", "file_remove", "file_search", "file_write", "fred",
	"git_blame", "git_diff", "git_log", "git_show", "git_status", "lsp_diagnostics", "memory_keep", "memory_search", "openalex",
	"process", "reference_data", "sec_edgar", "shell", "spawn_agent", "spreadsheet", "sub_agent", "task_assign", "team_write",
	"template_fill", "todo", "web_feed", "web_fetch", "web_search", "wikipedia", "world_bank",
}

// serverTool is a tool of a server, mcp_SERVER_TOOL, or the beginning of several.
var serverTool = regexp.MustCompile(`^mcp_[a-zA-Z0-9-]{1,24}_[a-zA-Z0-9_-]{0,40}\*?$`)

// packageTool is a tool of a process's package, pkg_TOOL, or the beginning of
// several.
var packageTool = regexp.MustCompile(`^pkg_[a-zA-Z0-9_-]{1,60}\*?$`)

// PackageTool reports whether a name is one that tools of packages have. Which
// ones there are is known where their process is.
func PackageTool(name string) bool { return packageTool.MatchString(name) }

// KnownTools returns the names of all tools that a role can be given, sorted.
func KnownTools() []string { return slices.Clone(tools) }

// modelPattern is PROVIDER:MODEL or several, with commas between them.
var modelPattern = regexp.MustCompile(`^[a-z]+:[!-+\--~]{1,128}(,[a-z]+:[!-+\--~]{1,128})*$`)

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// The largest texts a role may hold, in bytes.
const (
	maxSummary = 200
	maxPersona = 16 << 10
)

// Parse reads one role file, fills in the defaults and reports all that is
// wrong as FILE:LINE:COL, with codes yaml/... and role/invalid.
func Parse(file string, data []byte) (Role, error) {
	r, errs := parse(file, data)
	return r.role, fault.Join(errs)
}

func parse(file string, data []byte) (sourced, []*fault.Error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return sourced{}, []*fault.Error{fault.From(err)}
	}
	var r Role
	doc.Decode(&r)
	c := checker{doc: doc, role: &r}
	c.check()
	if errs := doc.Problems(); len(errs) > 0 {
		return sourced{}, errs
	}
	r.complete()
	return sourced{r, doc.Place, true}, nil
}

// complete fills in the defaults.
func (r *Role) complete() {
	r.Summary, r.Persona = strings.TrimSpace(r.Summary), strings.TrimSpace(r.Persona)
	if r.Human {
		return
	}
	orDefault(&r.Tier, 2)
	orDefault(&r.Agents, 1)
	orDefault(&r.Limits.Iterations, 25)
	orDefault(&r.Limits.ToolTimeout, time.Minute)
	orDefault(&r.Context.System, 2048)
	orDefault(&r.Context.Decisions, 1024)
	orDefault(&r.Context.Memory, 1024)
	orDefault(&r.Context.Map, 2048)
	orDefault(&r.Context.Tools, 2048)
	orDefault(&r.Context.Result, 10_000)
	orDefault(&r.Context.Output, 4096)
	orDefault(&r.Context.Summary, SummaryByModel)
	orDefault(&r.Restart.Max, 5)
	orDefault(&r.Restart.Within, time.Minute)
	orDefault(&r.Restart.Backoff, 500*time.Millisecond)
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// checker looks at what a file says before defaults are filled in.
type checker struct {
	doc  *strictyaml.Document
	role *Role
}

func (c *checker) check() {
	c.names()
	c.texts()
	if c.role.Human {
		c.human()
		return
	}
	c.tools("allow", c.role.Tools.Allow)
	c.tools("ask", c.role.Tools.Ask)
	c.main()
	c.rules()
	c.model()
	c.thinking()
	c.numbers()
	c.sandbox()
}

// refuse adds a problem of the value at path, unless the value is broken.
func (c *checker) refuse(path []any, value, format string, args ...any) *fault.Error {
	e := fault.New("role/invalid", format, args...)
	if value != "" {
		e.Got(value)
	}
	if !c.doc.Broken(path...) {
		c.doc.Add(e, path...)
	}
	return e
}

func (c *checker) names() {
	const form = "is not 1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit"
	if c.given("name") && !idPattern.MatchString(c.role.Name) {
		c.refuse([]any{"name"}, c.role.Name, "name %s", form)
	}
	for i, a := range c.role.Aliases {
		switch {
		case !idPattern.MatchString(a):
			c.refuse([]any{"aliases", i}, a, "aliases[%d] %s", i, form)
		case a == c.role.Name || slices.Contains(c.role.Aliases[:i], a):
			c.refuse([]any{"aliases", i}, a, "aliases[%d] is a name of the role already", i)
		}
	}
}

// given says whether a key is there, so that a missing one is reported once.
func (c *checker) given(key string) bool { return c.doc.Has(key) }

func (c *checker) texts() {
	if s := c.role.Summary; c.given("summary") && (strings.TrimSpace(s) == "" || len(s) > maxSummary || strings.Contains(strings.TrimSpace(s), "\n")) {
		c.refuse([]any{"summary"}, s, "summary is not one line of 1 to %d bytes", maxSummary)
	}
	switch p := strings.TrimSpace(c.role.Persona); {
	case p == "" && !c.role.Human && !c.doc.Broken("human"):
		c.refuse([]any{"persona"}, "", "the role has no persona").
			Want("say in persona who the agent is and how it works")
	case (len(p)+2)/3 > c.personaTokens() && !c.doc.Broken("context"):
		c.refuse([]any{"persona"}, "", "persona is counted as %d tokens, and context.system leaves it %d", (len(p)+2)/3, c.personaTokens()).
			Want("say less, or raise context.system")
	case len(p) > maxPersona:
		c.refuse([]any{"persona"}, p, "persona has %d bytes, more than %d", len(p), maxPersona)
	}
}

// HouseTokens is what of context.system is kept for the rules of the house.
const HouseTokens = 512

// personaTokens is what a persona may take.
func (c *checker) personaTokens() int {
	system := c.role.Context.System
	orDefault(&system, 2048)
	return system - HouseTokens
}

func (c *checker) human() {
	for _, key := range []string{"tier", "model", "thinking", "tools", "agents", "limits", "sandbox", "restart", "context", "architect"} {
		if c.given(key) {
			c.doc.AddAtKey(fault.New("role/invalid", "a human role has no %s", key), key)
		}
	}
}

func (c *checker) tools(list string, named []string) {
	for i, tool := range named {
		at := []any{"tools", list, i}
		switch {
		case slices.Contains(named[:i], tool) || list == "ask" && slices.Contains(c.role.Tools.Allow, tool):
			c.refuse(at, tool, "tools.%s[%d] is listed already", list, i)
		case serverTool.MatchString(tool), packageTool.MatchString(tool): // which ones there are, is known where the role works
		default:
			c.oneOf("tool", tool, tools, at...)
		}
	}
}

// main looks at which tools are shown with their schemas.
func (c *checker) main() {
	all := append(c.role.Tools.All(), "*")
	for i, name := range c.role.Tools.Main {
		at := []any{"tools", "main", i}
		switch {
		case slices.Contains(c.role.Tools.Main[:i], name):
			c.refuse(at, name, "tools.main[%d] is listed already", i)
		case !slices.Contains(all, name) && !serverTool.MatchString(name) && !packageTool.MatchString(name):
			c.refuse(at, name, "tools.main[%d] is a tool that the role does not list", i).Want("%s", suggest.Among(name, all))
		}
	}
}

// rules looks at what a role says of some calls of its tools.
func (c *checker) rules() {
	for i, r := range c.role.Tools.Rules {
		at := []any{"tools", "rules", i}
		named := slices.DeleteFunc([]string{r.Allow, r.Ask, r.Deny}, func(s string) bool { return s == "" })
		if len(named) != 1 {
			c.refuse(at, "", "tools.rules[%d] says %d things", i, len(named)).Want("one of allow, ask and deny, with a tool that the role has")
			continue
		}
		if !slices.Contains(c.role.Tools.All(), named[0]) {
			c.refuse(at, named[0], "tools.rules[%d] is about a tool that the role does not list", i).Want("%s", suggest.Among(named[0], c.role.Tools.All()))
		}
		if p := r.Permission(); r.On != "" && permission.Check(p) != nil {
			c.refuse(append(at, "on"), r.On, "it is no glob of at most %d bytes", permission.MaxPattern).Want(`for example "internal/**" or "go test *"`)
		}
	}
}

func (c *checker) model() {
	if m := c.role.Model; c.given("model") && !modelPattern.MatchString(m) {
		c.refuse([]any{"model"}, m, "model is not PROVIDER:MODEL").
			Want("for example anthropic:claude-sonnet-4-5; what it asks of any model is its tier, 1 to 3")
	}
}

// The fewest and the most tokens that a model may be given for reasoning.
const (
	MinThinking = 256
	MaxThinking = 128_000
)

// efforts are the words of Thinking.Effort.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Efforts returns the words of Thinking.Effort, from the least to the most.
func Efforts() []string { return slices.Clone(efforts) }

func (c *checker) thinking() {
	c.oneOf("effort", c.role.Thinking.Effort, efforts, "thinking", "effort")
	c.oneOf("summary", c.role.Context.Summary, []string{SummaryByModel, SummaryOfRecord}, "context", "summary")
}

func (c *checker) oneOf(what, value string, known []string, at ...any) {
	if slices.Contains(known, value) || value == "" && !c.doc.Has(at...) {
		return
	}
	c.refuse(at, value, "unknown %s", what).Want("%s", suggest.Among(value, known))
}

func (c *checker) numbers() {
	r := c.role
	c.within(int64(r.Tier), 1, 3, "tier")
	c.within(int64(r.Agents), 1, 64, "agents")
	c.within(int64(r.Limits.Iterations), 1, 200, "limits", "iterations")
	c.within(r.Limits.Tokens, 1, 1e12, "limits", "tokens")
	c.within(r.Limits.MicroUSD, 1, 1e15, "limits", "micro_usd")
	c.within(int64(r.Architect), 1, 3, "architect")
	c.within(int64(r.Thinking.Tokens), MinThinking, MaxThinking, "thinking", "tokens")
	c.within(int64(r.Context.Window), 8192, 1e8, "context", "window")
	c.within(int64(r.Context.System), 1024, 1e5, "context", "system")
	c.within(int64(r.Context.Decisions), 1, 1e5, "context", "decisions")
	c.within(int64(r.Context.Memory), 1, 65_536, "context", "memory")
	c.within(int64(r.Context.Map), 1, 1e5, "context", "map")
	c.within(int64(r.Context.Tools), 256, 1e5, "context", "tools")
	c.within(int64(r.Context.Result), 512, 1e5, "context", "result")
	c.within(int64(r.Context.Output), 256, 1e6, "context", "output")
	c.within(int64(r.Restart.Max), 1, 1000, "restart", "max")
	c.lasting(r.Limits.ToolTimeout, time.Second, time.Hour, "limits", "tool_timeout")
	c.lasting(r.Limits.Time, time.Second, 7*24*time.Hour, "limits", "time")
	c.lasting(r.Restart.Within, time.Second, 24*time.Hour, "restart", "within")
	c.lasting(r.Restart.Backoff, time.Millisecond, time.Hour, "restart", "backoff")
}

func (c *checker) within(n, least, most int64, at ...any) {
	if c.doc.Has(at...) && (n < least || n > most) {
		c.refuse(at, fmt.Sprint(n), "%v is not within %d and %d", at[len(at)-1], least, most)
	}
}

func (c *checker) lasting(t, least, most time.Duration, at ...any) {
	if c.doc.Has(at...) && (t < least || t > most) {
		c.refuse(at, t.String(), "%v is not within %s and %s", at[len(at)-1], least, most)
	}
}
