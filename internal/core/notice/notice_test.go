package notice_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

var agent = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "qa-engineer/1@h1"}

func at(e *loomv1.Event) *loomv1.Event {
	e.Project, e.Bead, e.Execution, e.Node = "demo", "demo-1", "demo-1-x1", "verify"
	e.Actor = agent
	return e
}

func TestSUB04_ANoticeIsPublishedUnderWhoActsAndForWhichTeam(t *testing.T) {
	claimed := &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Claimant: &loomv1.Claimant{Agent: "lead/3", Host: "h2"}}}}
	part := at(&loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{}}})
	part.Team = "demo-0"
	odd := at(&loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{}}})
	odd.Actor = &loomv1.Identity{Kind: agent.Kind, Name: "Any.body>@h*"}
	for _, tt := range []struct {
		e    *loomv1.Event
		want string
	}{
		{at(claimed), "demo.demo-1.demo-1.attempt-claimed.h2.lead.lead-3"},
		{part, "demo.demo-0.demo-1.edge-settled.h1.qa-engineer.qa-engineer-1"},
		{odd, "demo.demo-1.demo-1.edge-settled.-.-.-"},
		{&loomv1.Event{Project: "demo"}, "demo.-.-.unknown.-.-.-"},
	} {
		about, err := notice.About(tt.e)
		if got := subject.Notice(about); err != nil || got != "loom.v1.notice."+tt.want {
			t.Errorf("%v: %s, %v; want %s", tt.e, got, err, tt.want)
		}
	}
	for _, bad := range []*loomv1.Event{{}, {Project: "a.b"}, {Project: "demo", Bead: ">"}, {Project: "demo", Bead: "demo-1", Team: "*"}} {
		if _, err := notice.About(bad); fault.Code(err) != "id/malformed" {
			t.Errorf("About(%v): %v, want id/malformed", bad, err)
		}
	}
}

func ExampleOf() {
	e := &loomv1.Event{
		Number: 42, Project: "demo", Bead: "demo-1", Execution: "demo-1-x1",
		Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{
			Edge: "e7", From: "verify", To: "land", Taken: true, Outcome: "success",
		}},
	}
	n := notice.Of(e, &loomv1.Position{Partition: 2, Epoch: 1, Sequence: 17, Index: 3})
	fmt.Println(n.Kind)
	fmt.Println(n.Summary)
	fmt.Println(notice.Headers(n)["Loom-Position"][0])
	// Output:
	// edge-settled
	// demo-1: verify -> land (success)
	// 2.1.17.3
}

// A fact that is added to the contract and gets no sentence of its own fails
// here.
func TestSUB04_EveryFactHasItsOwnSentence(t *testing.T) {
	fields := (*loomv1.Event)(nil).ProtoReflect().Descriptor().Oneofs().ByName("fact").Fields()
	seen := map[string]string{}
	for i := range fields.Len() {
		field := fields.Get(i)
		e := at(&loomv1.Event{Number: 7})
		fact := e.ProtoReflect().NewField(field)
		fill(fact.Message(), 4)
		e.ProtoReflect().Set(field, fact)

		kind, summary := notice.Kind(e), notice.Summary(e)
		if strings.Contains(summary, "does not know") || summary == kind {
			t.Errorf("Summary(%s) = %q, want a sentence of its own", kind, summary)
		}
		if other, ok := seen[summary]; ok {
			t.Errorf("Summary(%s) = %q, the same as that of %s", kind, summary, other)
		}
		seen[summary] = kind
		if kind != notice.Kinds()[i] {
			t.Errorf("Kind = %q, Kinds()[%d] = %q", kind, i, notice.Kinds()[i])
		}
		if _, err := subject.Parse("kind", kind); err != nil {
			t.Errorf("Kind = %q cannot stand in a subject: %v", kind, err)
		}
		check(t, summary)

		e.ProtoReflect().Set(field, e.ProtoReflect().NewField(field))
		check(t, notice.Summary(e)) // a fact without content has a sentence, too
	}
}

// fill sets every field of m, messages down to depth.
func fill(m protoreflect.Message, depth int) {
	if depth == 0 {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.MessageKind:
			fill(m.Mutable(f).Message(), depth-1)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("the "+string(f.Name())))
		case f.Kind() == protoreflect.EnumKind:
			m.Set(f, protoreflect.ValueOfEnum(1))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		}
	}
}

func check(t interface{ Errorf(string, ...any) }, summary string) {
	if len(summary) == 0 || len(summary) > 300 || !utf8.ValidString(summary) {
		t.Errorf("summary %q: %d bytes, valid %t; want 1 to 300 bytes of UTF-8", summary, len(summary), utf8.ValidString(summary))
	}
	for _, r := range summary {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' {
			t.Errorf("summary %q holds the character %U", summary, r)
		}
	}
}

func TestSUB04_Sentences(t *testing.T) {
	until := &timestamppb.Timestamp{Seconds: 1767355500}
	for _, tt := range []struct {
		want  string
		event *loomv1.Event
	}{
		{"demo-1: verify -> land (success)", &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{From: "verify", To: "land", Taken: true, Outcome: "success"}}}},
		{"demo-1: triage -> end not taken", &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{From: "triage", To: "end"}}}},
		{`demo-1: approval demo-2 asked: "Land this change?"`, &loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: &loomv1.Approval{Id: "demo-2", Kind: loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, Question: "Land this change?"}}}}},
		{"demo-1: approval demo-2 answered by qa-engineer/1@h1: approved (fine)", &loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{Approval: "demo-2", Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "fine"}}}},
		{"qa-engineer/1@h1 ran shell: go test ./... (exit 1)", ran("shell", "go test ./...", 1)},
		{"qa-engineer/1@h1 ran shell: go test ./...: exit 1", ran("shell", "go test ./...: exit 1", 1)},
		{"qa-engineer/1@h1 ran shell: go test ./...", ran("shell", "go test ./...", 0)},
		{"qa-engineer/1@h1 runs shell: go test ./...", intends("shell", `{"command":"go test ./..."}`)},
		{"qa-engineer/1@h1 runs odd: [1]", intends("odd", `[1]`)},
		{"qa-engineer/1@h1 runs git_status", intends("git_status", `{}`)},
		{"demo-1: verify sends work back to investigate: too clever", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{To: "investigate", Reason: "too clever"}}}},
		{"demo-1: verify sends work back to commit, time 2: tests fail", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{To: "commit", Count: 2, Reason: "tests fail"}}}},
		{"demo-1: bead is in progress", &loomv1.Event{Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{Status: loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS}}}},
		{`demo-1: commit lock on "repo" granted to demo-1-x1-a4 until 2026-01-02T12:05:00Z (token 9)`, &loomv1.Event{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Repository: "/srv/repo", Request: "demo-1-x1-a4", Token: 9, Until: until}}}},
		{"demo-1: verify dispatched to qa-engineer, visit 2, attempt 1", &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{AttemptDispatched: &loomv1.AttemptDispatched{Role: "qa-engineer", Visit: 2, Number: 1}}}},
		{"demo-1: event 0 is of a kind that this version does not know", &loomv1.Event{}},
	} {
		if got := notice.Summary(at(tt.event)); got != tt.want {
			t.Errorf("Summary(%s) = %q, want %q", notice.Kind(tt.event), got, tt.want)
		}
	}
}

func ran(tool, summary string, exit int32) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{
		Tool: tool, Result: &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Summary: summary, ExitCode: exit},
	}}}
}

func intends(tool, arguments string) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_ToolIntended{ToolIntended: &loomv1.ToolIntended{
		Tool: &loomv1.ToolStep{Call: &loomv1.ToolCall{Tool: tool, Arguments: arguments}},
	}}}
}

// What a place of a sentence can be, and what it cannot.
func TestSUB04_PlacesOfSentences(t *testing.T) {
	of := (&loomv1.LockGranted{}).ProtoReflect().Descriptor()
	for text, want := range map[string]string{
		"a {node": "not closed", "{nodes}": "no such value", "{.nothing}": "no such field: nothing", "{.until.seconds.more}": "no such field: more",
		"{.request loud}": "no such form", "{node loud}": "no such form", "{.request count thing}": "no such form", "{}": "no such value",
	} {
		if err := notice.Parse(text, of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := notice.Parse("{about} {node or about} {.repository base} {.until} {.request after}", of); err != nil {
		t.Error(err)
	}
}

// What others wrote can neither colour a terminal nor forge a second line.
func TestSUB04_TextOfOthersIsOnePlainLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"two\nlines", "two lines"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"c1 \u009b31mcolour", "c1 colour"},
		{"bell\x07 back\x08space\x00", "bell backspace"},
		{"evil \u202etxt.exe", "evil txt.exe"},
		{"  blanks   and\ttabs ", "blanks and tabs"},
		{"bad \xff byte", "bad \uFFFD byte"},
		{"grüße 世界", "grüße 世界"},
		{strings.Repeat("x", 161), strings.Repeat("x", 157) + "..."},
		{strings.Repeat("x", 160), strings.Repeat("x", 160)},
	} {
		e := at(&loomv1.Event{Fact: &loomv1.Event_ApprovalLapsed{ApprovalLapsed: &loomv1.ApprovalLapsed{Approval: "demo-2", Reason: tt.text}}})
		if got, want := notice.Summary(e), "demo-1: approval demo-2 lapsed: "+tt.want; got != want {
			t.Errorf("Summary with %q = %q, want %q", tt.text, got, want)
		}
	}
}

func TestSUB04_AnyTextGivesASoundSummary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		name := rapid.StringN(0, 400, -1).Draw(t, "name")
		for _, e := range []*loomv1.Event{
			ran(name, text, 3), intends(text, name), intends(name, text),
			{Project: name, Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{From: text, To: name, Taken: true}}},
		} {
			check(t, notice.Summary(e))
		}
	})
}

// only has the one value that each header has.
func only(h map[string][]string) map[string]string {
	one := map[string]string{}
	for name, values := range h {
		one[name] = strings.Join(values, " and ")
	}
	return one
}

func TestSUB04_Headers(t *testing.T) {
	pos := &loomv1.Position{Partition: 1, Epoch: 2, Sequence: 3, Index: 4}
	full := map[string]string{
		"Loom-Type": string((&loomv1.Notice{}).ProtoReflect().Descriptor().FullName()), "Loom-Project": "demo", "Loom-Bead": "demo-1",
		"Loom-Number": "7", "Loom-Team": "demo-1",
		"Loom-Execution": "demo-1-x1", "Loom-Node": "verify", "Loom-Role": "qa-engineer", "Loom-Agent": "qa-engineer/1@h1",
		"Loom-Position": "1.2.3.4", "Loom-Summary": "qa-engineer/1@h1 ran shell: ls",
	}
	e := at(ran("shell", "ls", 0))
	e.Number = 7
	n := notice.Of(e, pos)
	if diff := cmp.Diff(full, only(notice.Headers(n))); diff != "" {
		t.Errorf("Headers of an agent's event (-want +got):\n%s", diff)
	}
	if !proto.Equal(n.Position, pos) || n.Kind != "tool-finished" {
		t.Errorf("Of = %v, want kind tool-finished at %v", n, pos)
	}

	claimed := at(&loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Claimant: &loomv1.Claimant{Agent: "architect/2", Host: "h9"}}}})
	claimed.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h9"}
	if h := only(notice.Headers(notice.Of(claimed, pos))); h["Loom-Role"] != "architect" || h["Loom-Agent"] != "architect/2@h9" {
		t.Errorf("Headers of a claim: role %q, agent %q, want architect, architect/2@h9", h["Loom-Role"], h["Loom-Agent"])
	}

	bare := notice.Headers(notice.Of(&loomv1.Event{Project: "demo", Fact: &loomv1.Event_ProjectRegistered{}}, pos))
	for _, name := range []string{"Loom-Bead", "Loom-Execution", "Loom-Node", "Loom-Role", "Loom-Agent"} {
		if v, ok := bare[name]; ok {
			t.Errorf("Headers of a project's event hold %s: %q, want it left out", name, v)
		}
	}
}

func TestParsePosition(t *testing.T) {
	for _, s := range []string{"", "1.2.3", "1.2.3.4.5", "a.1.1.1", "1.1.1.-1", "+1.1.1.1", "01.1.1.1", "1. 1.1.1", "4294967296.1.1.1", "1.18446744073709551616.1.1", "1.1.1.4294967296"} {
		if p, err := notice.ParsePosition(s); fault.Code(err) != "id/malformed" {
			t.Errorf("ParsePosition(%q) = %v, %v; want id/malformed", s, p, err)
		}
	}
	if got := notice.FormatPosition(nil); got != "" {
		t.Errorf("FormatPosition(nil) = %q, want nothing", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := &loomv1.Position{
			Partition: rapid.Uint32().Draw(t, "partition"), Epoch: rapid.Uint64().Draw(t, "epoch"),
			Sequence: rapid.Uint64().Draw(t, "sequence"), Index: rapid.Uint32().Draw(t, "index"),
		}
		if got, err := notice.ParsePosition(notice.FormatPosition(want)); err != nil || !proto.Equal(got, want) {
			t.Fatalf("ParsePosition(%q) = %v, %v; want %v", notice.FormatPosition(want), got, err, want)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	f.Add("0.1.42.0")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := notice.ParsePosition(s); err == nil && notice.FormatPosition(p) != s {
			t.Errorf("FormatPosition(ParsePosition(%q)) = %q", s, notice.FormatPosition(p))
		}
	})
}

func BenchmarkOf(b *testing.B) {
	e, pos := at(ran("shell", "go test ./... passed in 3.2 s", 0)), &loomv1.Position{Sequence: 1}
	for b.Loop() {
		notice.Of(e, pos)
	}
}
