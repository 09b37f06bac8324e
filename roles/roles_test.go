package roles_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/roles"
)

// What each built-in role may do; nothing else can widen it.
func TestROLE01_Builtin(t *testing.T) {
	const (
		find      = "file_read file_search content_search"
		read      = find + " directory_list"
		remember  = " memory_keep memory_search"
		record    = "decision_log decision_query team_write"
		decide    = record + " decision_vote"
		judge     = decide + " decision_ballot"
		gitRead   = "git_status git_diff git_log"
		gitJudge  = gitRead + " git_show git_blame"
		editors   = find + " file_write file_edit apply_patch shell process " + gitRead + " " + record
		reporters = read + " " + judge
		knowledge = "calculator spreadsheet data_analysis comparison_matrix chart_data document_write template_fill " +
			"web_feed wikipedia arxiv openalex fred world_bank " +
			"reference_data sec_edgar alpha_vantage web_search web_fetch"
	)
	want := map[string]string{
		"analyst":             read + " file_write file_edit file_remove " + knowledge + " decision_log team_write" + remember,
		"architect":           reporters + " todo " + gitJudge + remember,
		"backend-engineer":    editors + " todo lsp_diagnostics" + remember,
		"ceo":                 "",
		"engineering-manager": read + " " + gitJudge + " " + judge,
		"implementer":         editors + " todo lsp_diagnostics sub_agent ask_user" + remember,
		"lead":                reporters + " todo " + gitJudge + " delegate_task spawn_agent task_assign agent_list agent_watch agent_stop sub_agent ask_user" + remember,
		"project-manager":     read + " file_edit " + decide + remember,
		"qa-engineer":         find + " shell process todo " + gitJudge + " " + record + remember,
		"researcher":          reporters + " todo" + remember,
		"web-designer":        editors + " todo" + remember,
	}
	set := roles.Builtin()
	for _, name := range set.Names() {
		r, _ := set.Get(name)
		allowed := strings.Fields(want[name])
		slices.Sort(allowed)
		got := append([]string{}, r.Tools.Allow...)
		slices.Sort(got)
		if diff := cmp.Diff(allowed, got); diff != "" {
			t.Errorf("tools of %s, want -, got +:\n%s", name, diff)
		}
		if r.Human != (name == "ceo") {
			t.Errorf("%s is human: %t", name, r.Human)
		}
		if !r.Human && (len(r.Persona) < 400 || r.Agents < 1 || r.Limits.Iterations < 1 || r.Limits.ToolTimeout < time.Second || r.Restart.Max < 1) {
			t.Errorf("%s lacks persona, agents or limits: %+v", name, r)
		}
	}
	if len(set.Names()) != len(want) {
		t.Errorf("roles %v, want %d", set.Names(), len(want))
	}
}

func TestROLE01_Aliases(t *testing.T) {
	set := roles.Builtin()
	for alias, name := range map[string]string{"qa": "qa-engineer", "tester": "qa-engineer", "lead": "lead"} {
		if r, ok := set.Get(alias); !ok || r.Name != name {
			t.Errorf("Get(%q) = %q, %t, want %q", alias, r.Name, ok, name)
		}
	}
	if r, ok := set.Get("nobody"); ok {
		t.Errorf("Get(nobody) = %v", r)
	}
	if _, ok := set.Get(""); ok {
		t.Error(`Get("") found a role`)
	}
	for word, near := range map[string]string{"qa-enginer": "qa-engineer", "testr": "tester", "zebra": ""} {
		if got := set.Suggest(word); got != near {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, near)
		}
	}
}

const sound = `name: poet
summary: Writes odes.
persona: You write odes.
`

func TestROLE01_Defaults(t *testing.T) {
	got, err := roles.Parse("poet.yaml", []byte(sound))
	want := roles.Role{
		Name: "poet", Summary: "Writes odes.", Persona: "You write odes.", Tier: 2, Agents: 1,
		Limits:  roles.Limits{Iterations: 25, ToolTimeout: time.Minute},
		Context: roles.Context{System: 2048, Decisions: 1024, Memory: 1024, Map: 2048, Tools: 2048, Result: 10_000, Output: 4096, Summary: roles.SummaryByModel},
		Restart: roles.Restart{Max: 5, Within: time.Minute, Backoff: 500 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; want -, got +:\n%s", err, diff)
	}
}

func TestROLE01_Everything(t *testing.T) {
	got, err := roles.Parse("poet.yaml", []byte(sound+`
aliases: [bard]
tier: 1
thinking: {effort: xhigh, tokens: 128000}
model: anthropic:a-1,openai:b/c:7b
tools: {allow: [file_read], ask: [shell]}
limits: {iterations: 200, tool_timeout: 1h, tokens: 1, micro_usd: 5000000, time: 168h}
agents: 64
context: {window: 8192, system: 1024, decisions: 1, memory: 1, map: 1, tools: 256, result: 512, output: 256, summary: record}
architect: 1
restart: {max: 1, within: 1s, backoff: 1ms}
`))
	want := roles.Role{
		Name: "poet", Summary: "Writes odes.", Persona: "You write odes.", Aliases: []string{"bard"}, Tier: 1, Model: "anthropic:a-1,openai:b/c:7b", Agents: 64,
		Thinking: roles.Thinking{Effort: "xhigh", Tokens: 128_000},
		Tools:    roles.Tools{Allow: []string{"file_read"}, Ask: []string{"shell"}},
		Limits:   roles.Limits{Iterations: 200, ToolTimeout: time.Hour, Tokens: 1, MicroUSD: 5_000_000, Time: 168 * time.Hour},
		Context:  roles.Context{Window: 8192, System: 1024, Decisions: 1, Memory: 1, Map: 1, Tools: 256, Result: 512, Output: 256, Summary: roles.SummaryOfRecord}, Architect: 1,
		Restart: roles.Restart{Max: 1, Within: time.Second, Backoff: time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; want -, got +:\n%s", err, diff)
	}
}

// Which tools are shown in full: those named, all of a server's, or all.
func TestROLE01_ToolsInFull(t *testing.T) {
	for main, want := range map[string]string{
		"": "file_read", "git_log": "git_log", "mcp_x_*": "mcp_x_find", "*": "file_read git_log mcp_x_find pkg_sum", "pkg_s*, git_log": "git_log pkg_sum",
	} {
		r, err := roles.Parse("poet.yaml", []byte(sound+"tools: {allow: [file_read, git_log, 'mcp_x_*', 'pkg_s*'], main: ["+quoted(main)+"]}\n"))
		var got []string
		for _, name := range []string{"file_read", "git_log", "mcp_x_find", "pkg_sum"} {
			if r.Tools.InFull(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%q shows %q, want %q: %v", main, got, want, err)
		}
	}
}

// quoted are words of a list as YAML takes them.
func quoted(list string) string {
	if list == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(list, ", ", "', '") + "'"
}

// listing prints every problem as WHERE CODE VALUE.
func listing(err error) []string {
	first, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return nil
	}
	var all []string
	for _, e := range append([]*fault.Error{first}, first.More...) {
		all = append(all, strings.TrimSpace(e.Where+" "+e.Code+" "+e.Value))
	}
	return all
}

func TestROLE01_Parse_refuses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing given", "{}", []string{
			"r:1:1 yaml/missing-key", "r:1:1 yaml/missing-key", "r:1:1 role/invalid", // name, summary, persona
		}},
		{"bad name", "name: Poet\nsummary: s\npersona: p\n", []string{`r:1:7 role/invalid "Poet"`}},
		{"name of 33 bytes", "name: " + strings.Repeat("a", 33) + "\nsummary: s\npersona: p\n", []string{`r:1:7 role/invalid "` + strings.Repeat("a", 33) + `"`}},
		{"empty texts", "name: poet\nsummary: ' '\npersona: ''\n", []string{`r:2:10 role/invalid " "`, "r:3:10 role/invalid"}},
		{"summary of two lines", "name: poet\nsummary: \"a\\nb\"\npersona: p\n", []string{`r:2:10 role/invalid "a\nb"`}},
		{"aliases", sound + "aliases: [Bard, poet, b, b]\n", []string{
			`r:4:11 role/invalid "Bard"`, `r:4:17 role/invalid "poet"`, `r:4:26 role/invalid "b"`,
		}},
		{"unknown tool", sound + "tools: {allow: [file_raed, git_push]}\n", []string{`r:4:17 role/invalid "file_raed"`, `r:4:28 role/invalid "git_push"`}},
		{"tool twice", sound + "tools: {allow: [shell, shell], ask: [shell]}\n", []string{`r:4:24 role/invalid "shell"`, `r:4:38 role/invalid "shell"`}},
		{"rules", sound + "tools: {allow: [shell], rules: [{allow: shell}, {deny: file_read, on: x}, {on: x}, {ask: shell, deny: shell, on: x}, {ask: shell, on: '['}]}\n", []string{
			"r:4:33 yaml/missing-key", `r:4:49 role/invalid "file_read"`, "r:4:75 role/invalid", "r:4:84 role/invalid", `r:4:135 role/invalid "["`,
		}},
		{"no model", sound + "model: gpt-9\n", []string{`r:4:8 role/invalid "gpt-9"`}},
		{"an empty model", sound + "model: ''\n", []string{"r:4:8 role/invalid"}},
		{"an end to a list", sound + "model: 'openai:a,'\n", []string{`r:4:8 role/invalid "openai:a,"`}},
		{"tier too low", sound + "tier: 0\n", []string{`r:4:7 role/invalid "0"`}},
		{"tier too high", sound + "tier: 4\n", []string{`r:4:7 role/invalid "4"`}},
		{"limits too low", sound + "limits: {iterations: 0, tool_timeout: 1ms, tokens: 0, micro_usd: -1, time: 0s}\n", []string{
			`r:4:22 role/invalid "0"`, `r:4:39 role/invalid "1ms"`, `r:4:52 role/invalid "0"`, `r:4:66 role/invalid "-1"`, `r:4:76 role/invalid "0s"`,
		}},
		{"limits too high", sound + "limits: {iterations: 201, tool_timeout: 61m}\nagents: 65\n", []string{
			`r:4:22 role/invalid "201"`, `r:4:41 role/invalid "1h1m0s"`, `r:5:9 role/invalid "65"`,
		}},
		{"reasoning", sound + "thinking: {effort: hard, tokens: 255}\n", []string{`r:4:20 role/invalid "hard"`, `r:4:34 role/invalid "255"`}},
		{"zones too small", sound + "context: {window: 8191, system: 1023, decisions: 0, map: 0, tools: 255, output: 255}\narchitect: 4\n", []string{
			`r:4:19 role/invalid "8191"`, `r:4:33 role/invalid "1023"`, `r:4:50 role/invalid "0"`, `r:4:58 role/invalid "0"`, `r:4:68 role/invalid "255"`, `r:4:81 role/invalid "255"`, `r:5:12 role/invalid "4"`,
		}},
		{"a persona that its zone cannot hold", "name: poet\nsummary: s\npersona: " + strings.Repeat("a", 4609) + "\n", []string{"r:3:10 role/invalid"}},
		{"wrong type said once", sound + "agents: 2.0\nmodel: [x]\n", []string{`r:4:9 yaml/type "2.0"`, "r:5:8 yaml/type"}},
		{"unknown key", sound + "tool: {allow: [shell]}\n", []string{`r:4:1 yaml/unknown-key "tool"`}},
		{"human with tools", "name: boss\nsummary: s\nhuman: true\ntools: {allow: [shell]}\nagents: 2\n", []string{"r:4:1 role/invalid", "r:5:1 role/invalid"}},
	} {
		t.Run("ROLE01 "+tt.name, func(t *testing.T) {
			got, err := roles.Parse("r", []byte(tt.text))
			if diff := cmp.Diff(tt.want, listing(err)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if got.Name != "" {
				t.Errorf("a refused file still gave %+v", got)
			}
		})
	}
}

func TestROLE01_Load(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	poet := file(sound + "aliases: [bard]\n")
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		want  []string // problems
		names int
	}{
		{"no directory", fstest.MapFS{}, nil, 11},
		{"one more", fstest.MapFS{"roles/poet.yaml": poet, "roles/notes.txt": file("x"), "roles/old/x.yaml": file("x")}, nil, 12},
		{"an override", fstest.MapFS{"roles/lead.yml": file(strings.Replace(sound, "poet", "lead", 1))}, nil, 11},
		{"twice", fstest.MapFS{"roles/a.yaml": poet, "roles/b.yaml": file(sound)}, []string{"roles/b.yaml:1:7 role/duplicate"}, 0},
		{"an alias that is a role", fstest.MapFS{"roles/a.yaml": file(sound + "aliases: [lead]\n")}, []string{"roles/a.yaml:4:11 role/duplicate"}, 0},
		{"an alias of another", fstest.MapFS{"roles/a.yaml": poet, "roles/b.yaml": file("name: rhymer\nsummary: s\npersona: p\naliases: [bard]\n")}, []string{"roles/b.yaml:4:11 role/duplicate"}, 0},
		{"a role that is an alias", fstest.MapFS{"roles/qa.yaml": file(strings.Replace(sound, "poet", "qa", 1))}, []string{"roles/qa.yaml:1:7 role/duplicate"}, 0},
		{"an agent for a human", fstest.MapFS{"roles/ceo.yaml": file(strings.Replace(sound, "poet", "ceo", 1))}, []string{"roles/ceo.yaml:1:1 role/invalid"}, 0},
		{"all files at once", fstest.MapFS{"roles/a.yaml": file("{}"), "roles/b.yaml": file("name: [")}, []string{
			"roles/a.yaml:1:1 yaml/missing-key", "roles/a.yaml:1:1 yaml/missing-key", "roles/a.yaml:1:1 role/invalid", `roles/b.yaml:1:1 yaml/syntax "name: ["`,
		}, 0},
	} {
		t.Run("ROLE01 "+tt.name, func(t *testing.T) {
			set, err := roles.Load(roles.Builtin(), tt.files, "roles")
			if diff := cmp.Diff(tt.want, listing(err)); diff != "" {
				t.Fatalf("want -, got +:\n%s", diff)
			}
			if err == nil && len(set.Names()) != tt.names {
				t.Errorf("roles %v, want %d", set.Names(), tt.names)
			}
		})
	}
}

// The set that roles are added to stays as it was.
func TestROLE01_With(t *testing.T) {
	base := roles.Builtin()
	more, err := base.With(roles.Role{Name: "lead", Persona: "new"}, roles.Role{Name: "poet", Aliases: []string{"bard"}})
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := more.Get("bard"); r.Name != "poet" {
		t.Errorf("bard is %q", r.Name)
	}
	if r, _ := more.Get("lead"); r.Persona != "new" {
		t.Errorf("lead was not overridden: %q", r.Persona)
	}
	if _, ok := base.Get("poet"); ok {
		t.Error("the base set changed")
	}
	if _, err := base.With(roles.Role{Name: "poet", Aliases: []string{"qa"}}); fault.Code(err) != "role/duplicate" {
		t.Errorf("an alias of another role gave %v", err)
	}
}

func ExampleParse() {
	_, err := roles.Parse("qa.yaml", []byte("name: qa\nsummary: Tests.\npersona: You test.\ntools: {allow: [shel]}\n"))
	fmt.Println(err)
	// Output: qa.yaml:4:17: unknown tool (got "shel"); did you mean "shell"?
}

func FuzzF36_Parse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte("name: boss\nsummary: s\nhuman: true\n"))
	f.Add([]byte(sound + "tools: {allow: [shell], ask: []}\nlimits: {iterations: 3}\nrestart: {max: 2}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := roles.Parse("r", data)
		if (err == nil) != (r.Name != "") {
			t.Errorf("Parse gave %+v and %v", r, err)
		}
	})
}
