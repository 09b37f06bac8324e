package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/permission"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestAGENT04_RequestedByAFile(t *testing.T) {
	within := func(lines string) string {
		return "# Rules\n\n```yaml permissions\n" + lines + "\n```\n\n```sh\nmake\n```\n"
	}
	for _, tt := range []struct {
		name, text string
		want       []*loomv1.Permission
		code       string
		where      string
	}{
		{"no block", "# Rules\n\n```yaml\npermissions: []\n```\n", nil, "", ""},
		{"all that can be said", within("permissions:\n- {allow: shell, on: 'go test *', role: lead}\n- {ask: '*', role: qa}\n- {deny: mcp_x_*, on: 'a/**'}"), []*loomv1.Permission{
			{Verdict: permission.Allow, Tool: "shell", Pattern: "go test *", Role: "lead"},
			{Verdict: permission.Ask, Role: "qa"},
			{Verdict: permission.Deny, Tool: "mcp_x_*", Pattern: "a/**"},
		}, "", ""},
		{"at the top", "```yaml permissions\npermissions: [{deny: shell}]\n```", []*loomv1.Permission{{Verdict: permission.Deny, Tool: "shell"}}, "", ""},
		{"no end", "```yaml permissions\npermissions: []\n", nil, "permission/invalid", "f"},
		{"everything to everybody", within("permissions:\n- {allow: '*'}"), nil, "permission/invalid", "f:5:3"},
		{"nothing said", within("permissions:\n- {on: x}"), nil, "permission/invalid", "f:5:3"},
		{"an unknown key", within("permissions:\n- {alow: shell}"), nil, "yaml/unknown-key", "f:5:4"},
		{"no list", within("permission: []"), nil, "yaml/unknown-key", "f:4:1"},
		{"too many", within("permissions: [" + strings.Repeat("{deny: shell},", permission.MaxRequested+1) + "]"), nil, "permission/invalid", "f:4:14"},
	} {
		t.Run("AGENT04 "+tt.name, func(t *testing.T) {
			got, err := permission.Requested("f", tt.text)
			if fault.Code(err) != tt.code || err != nil && fault.From(err).Where != tt.where {
				t.Fatalf("the error is %v, want %s at %s", err, tt.code, tt.where)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); err == nil && diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func FuzzAGENT04_Requested(f *testing.F) {
	f.Add("```yaml permissions\npermissions: [{deny: shell}]\n```")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := permission.Requested("f", text)
		if err != nil {
			return
		}
		for _, p := range list {
			if err := permission.Check(p); err != nil {
				t.Errorf("%v: %v", p, err)
			}
		}
	})
}
