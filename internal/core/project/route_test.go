package project_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func ExampleGlob() {
	fmt.Println(project.Glob("*timeout*", "ReadTimeout"))
	fmt.Println(project.Glob("web-?", "web-10"))
	// Output:
	// true
	// false
}

func TestSUB05_PatternsAreGlobs(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "anything", true},
		{"*", "", true},
		{"**", "x", true},
		{"?", "", false},
		{"?", "ä", true},
		{"a", "A", true},
		{"a", "ab", false},
		{"a*", "ab\ncd", true},
		{"*b", "ab\nb", true},
		{"*a*b", "xaxb", true},
		{"*a*b", "xbxa", false},
		{"a*a", "a", false},
		{"É*", "écran", true},
		{"[a]", "a", false},
		{strings.Repeat("?", 63), strings.Repeat("x", 63), true},
		{strings.Repeat("?", 63) + "*", strings.Repeat("x", 62), false},
		{strings.Repeat("x", 64), strings.Repeat("x", 64), false}, // too long: refused where it is registered
	} {
		if got := project.Glob(tt.pattern, tt.text); got != tt.want {
			t.Errorf("Glob(%q, %q) = %t, want %t", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// path.Match is another reading of the same language, for what has no "/".
func TestSUB05_PatternsAgreeWithAnotherReading(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab*?")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		pattern, text := word.Draw(t, "pattern"), strings.NewReplacer("*", "a", "?", "b").Replace(word.Draw(t, "text"))
		want, err := path.Match(pattern, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := project.Glob(pattern, text); got != (want || pattern == "") {
			t.Fatalf("Glob(%q, %q) = %t", pattern, text, got)
		}
	})
}

func FuzzGlob(f *testing.F) {
	f.Add("*a?b*", "xxaybzz")
	f.Add("\xff*", "\xff")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		got := project.Glob(pattern, text)
		if strings.Trim(pattern, "*") == "" && !got {
			t.Errorf("Glob(%q, %q) = false, and stars match everything", pattern, text)
		}
		if strings.ContainsAny(pattern, "*?") || pattern == "" || utf8.RuneCountInString(pattern) > project.MaxPattern {
			return
		}
		if want := strings.Map(unicode.ToLower, pattern) == strings.Map(unicode.ToLower, text); got != want {
			t.Errorf("Glob(%q, %q) = %t without a star, want %t", pattern, text, got, want)
		}
	})
}

func TestSUB05_TheFirstRuleThatMatchesCounts(t *testing.T) {
	rules := []*loomv1.Route{
		{Service: "web*", StatusFrom: 500, StatusTo: 502, Assignee: "one"},
		{Kind: "css", Attributes: map[string]string{"runtime": "browser", "page": ""}, Assignee: "two"},
		{Message: "*disk*full*", Assignee: "three"},
		{StatusFrom: 503, Assignee: "four"},
	}
	for _, tt := range []struct {
		name   string
		report *loomv1.ErrorReport
		want   int
	}{
		{"service and status", &loomv1.ErrorReport{Service: "web-2", Status: 502}, 0},
		{"status above", &loomv1.ErrorReport{Service: "web-2", Status: 503}, 3},
		{"crash without a status", &loomv1.ErrorReport{Service: "web-2", Crash: true}, -1},
		{"attributes", &loomv1.ErrorReport{Kind: "CSS", Attributes: map[string]string{"runtime": "Browser", "page": "/"}}, 1},
		{"an attribute missing", &loomv1.ErrorReport{Kind: "css", Attributes: map[string]string{"runtime": "browser"}}, -1},
		{"message", &loomv1.ErrorReport{Message: "the Disk\nis full."}, 2},
		{"nothing", &loomv1.ErrorReport{Message: "full disk"}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if rule, got := project.RouteOf(rules, tt.report); got != tt.want || (rule == nil) != (tt.want < 0) {
				t.Errorf("rule %d (%v), want %d", got, rule, tt.want)
			}
		})
	}
}

func (d *desk) fails(r *loomv1.ErrorReport) *loomv1.SubmitReply {
	d.t.Helper()
	return d.ok(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: r}}}).GetSubmit()
}

func (d *desk) register(edit func(*loomv1.ProjectConfig)) error {
	d.t.Helper()
	c := &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"}
	edit(c)
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: c}}})
	return err
}

func TestSUB05_RulesDecideWhoMendsWhat(t *testing.T) {
	d := small(t)
	b := d.bead(d.fails(&loomv1.ErrorReport{Service: "web", Status: 500, Kind: "css", Message: "no colour"}).Bead)
	if b.Assignee != "web-designer" || b.Process != project.AutoBug || b.Labels[0] != "web" {
		t.Errorf("by the built-in rules: %v, want it for a web designer", b)
	}
	d.work("qa-engineer", triaged()) // which names a backend engineer
	if q := d.s.Queued(); len(q) != 1 || q[0].Role != "web-designer" {
		t.Errorf("queued after triage: %v, want the role that the bead is meant for", q)
	}
	if err := d.register(func(c *loomv1.ProjectConfig) {
		c.Routes = []*loomv1.Route{
			{Service: "web", Process: "small", Assignee: "qa-engineer", Priority: urgent, Labels: []string{"x"}},
			{Service: "old", Ignore: true},
			{Service: "gone", Process: "no-longer-there"},
		}
	}); err != nil {
		t.Fatal(err)
	}
	b = d.bead(d.fails(&loomv1.ErrorReport{Service: "web", Status: 500, Kind: "other", Message: "no colour"}).Bead)
	if b.Assignee != "qa-engineer" || b.Process != "small" || b.Priority != urgent || b.Labels[0] != "x" {
		t.Errorf("by the project's rules: %v", b)
	}
	before := len(d.events)
	if r := d.fails(&loomv1.ErrorReport{Service: "old", Status: 500, Message: "m"}); r.Bead != "" || len(d.events) != before {
		t.Errorf("an ignored report: %v and %d events, want none", r, len(d.events)-before)
	}
	if b := d.bead(d.fails(&loomv1.ErrorReport{Service: "gone", Status: 500, Message: "m"}).Bead); b.Process != project.AutoBug {
		t.Errorf("by a process that is not there: %q, want %s", b.Process, project.AutoBug)
	}
}

func TestSUB05_AFileOfRulesIsReadStrictly(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "f:1:1 yaml/documents"},
		{"no rules", "governor: {window: 1h}", "f:1:1 yaml/missing-key"},
		{"an unknown key", "routes: [{services: x}]", "f:1:11 yaml/unknown-key"},
		{"a role that is none", "routes: [{assignee: web}]", "f:1:21 role/unknown"},
		{"a person", "routes: [{assignee: ceo}]", "f:1:21 bead/invalid"},
		{"an alias of a role", "routes: [{assignee: qa}]", "f:1:21 bead/invalid"},
		{"no token", "routes: [{assignee: A B}]", "f:1:21 id/malformed"},
		{"a long pattern", "routes: [{kind: " + strings.Repeat("k", 64) + "}]", "f:1:17 route/invalid"},
		{"a long attribute", "routes: [{attributes: {a: " + strings.Repeat("k", 64) + "}}]", "f:1:27 route/invalid"},
		{"statuses upside down", "routes: [{status_from: 600, status_to: 500}]", "f:1:24 route/invalid"},
		{"a priority that is none", "routes: [{priority: high}]", "f:1:21 route/invalid"},
		{"a label that is none", "routes: [{labels: [a, B c]}]", "f:1:23 id/malformed"},
		{"ignored and assigned", "routes: [{ignore: true, labels: [a]}]", "f:1:19 route/invalid"},
		{"too many", "routes: [" + strings.Repeat("{kind: k}, ", project.MaxRoutes+1) + "]", "f:1:9 route/invalid"},
		{"a short window", "{routes: [], governor: {window: 1ms}}", "f:1:33 project/invalid"},
		{"sound", "{routes: [{kind: '*', assignee: lead}], governor: {reported: 5, self_filed: 1, window: 10m}}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := project.ParseReporting("f", []byte(tt.text), roles.Builtin())
			got := ""
			if err != nil {
				got = fault.From(err).Where + " " + fault.Code(err)
			}
			if got != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// What is written in a file is checked by the project, too: a registration may
// come in a message.
func TestSUB05_RulesInARegistrationAreChecked(t *testing.T) {
	d := small(t)
	for _, r := range []*loomv1.Route{
		{Kind: strings.Repeat("k", 64)}, {StatusFrom: -1}, {Assignee: "A B"}, {Priority: 9}, {Labels: []string{"A"}}, {Ignore: true, Assignee: "lead"}, {Service: "\xff"},
	} {
		if err := d.register(func(c *loomv1.ProjectConfig) { c.Routes = []*loomv1.Route{{}, r} }); err == nil || !strings.HasPrefix(fault.From(err).Where, "routes[1].") {
			t.Errorf("%v registered: %v, want its place", r, err)
		}
	}
}

func FuzzParseReporting(f *testing.F) {
	f.Add("routes:\n  - {service: a, kind: '*', assignee: lead, status_from: 500}\n")
	f.Add("routes: [{attributes: {a: b}}]\ngovernor: {reported: 1, window: 1h}")
	f.Add("routes: [{labels: [a, [b]]}]")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := project.ParseReporting("f", []byte(text), roles.Builtin())
		if err != nil {
			if fault.Code(err) == "" || fault.From(err).Where == "" {
				t.Errorf("%q: %v, without a code or a place", text, err)
			}
			return
		}
		project.RouteOf(r.Routes, &loomv1.ErrorReport{Service: text, Kind: "k", Message: text})
	})
}
