package project_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Names and texts of a context that would steer a terminal are refused, however deep.
func TestSUB03_AContextHasNoControlCharacters(t *testing.T) {
	for _, tt := range []struct {
		context map[string]any
		where   string
	}{
		{map[string]any{"note": "two\nlines\tand a tab\r\n", "n": 1, "list": []any{"a", map[string]any{"b": "c"}}}, ""},
		{map[string]any{"note": "\x1b[2J"}, "context/note"},
		{map[string]any{"no\x1bte": "x"}, "context"},
		{map[string]any{"no\nte": "x"}, "context"},
		{map[string]any{"list": []any{"a", map[string]any{"b": "\x00"}}}, "context/list/1/b"},
		{map[string]any{"list": []any{map[string]any{"\x7f": 1}}}, "context/list/0"},
	} {
		d := newDesk(t)
		context, err := structpb.NewStruct(tt.context)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "work", Context: context}}}})
		if tt.where == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.context, err)
			}
			continue
		}
		if fault.Code(err) != "submit/invalid-field" || fault.From(err).Where != tt.where {
			t.Errorf("%q: %v, want submit/invalid-field at %s", tt.context, err, tt.where)
		}
	}
}

// What a project cannot be called and where it cannot lie says its bound and its place.
func TestOPS01_ANameAndAPathOfAProject(t *testing.T) {
	for _, tt := range []struct{ id, repository, want string }{
		{strings.Repeat("a", 40), "/src/shop", ""},
		{strings.Repeat("a", 41), "/src/shop", "project id is not 1 to 40 of a-z"},
		{"Shop", "/src/shop", "project id is not 1 to 40 of a-z"},
		{"shop", "/src/a shop", ""},
		{"shop", "/src/a\nshop", "a line end or another control character"},
	} {
		err := project.CheckConfig(&loomv1.ProjectConfig{Id: tt.id, Repository: tt.repository})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s at %q: %v, want %q", tt.id, tt.repository, err, tt.want)
		}
	}
}

// An answer that does not say what was shown is told so, and not that it is about "".
func TestSIGN03_AnAnswerWithoutADigestIsRefusedByName(t *testing.T) {
	d := asking(t, true)
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil {
		t.Fatal(err)
	}
	err = d.respond(anOperator, "me", &loomv1.DecideApproval{Approval: v.Approvals[0].Id, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "blue"})
	if fault.Code(err) != "approval/digest" || fault.From(err).Where != "digest" || !strings.Contains(err.Error(), "has no digest") {
		t.Errorf("%v, want approval/digest at digest", err)
	}
}
