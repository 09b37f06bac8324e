package permission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/permission"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func call(tool, arguments string) *loomv1.ToolCall {
	return &loomv1.ToolCall{Id: "c1-1", Tool: tool, Arguments: arguments}
}

func says(verdict loomv1.PermissionVerdict, role, tool, pattern string) *loomv1.Permission {
	return &loomv1.Permission{Id: "p", Verdict: verdict, Role: role, Tool: tool, Pattern: pattern}
}

func ExampleOf() {
	all := []*loomv1.Permission{
		says(permission.Ask, "", "shell", ""),
		says(permission.Allow, "implementer", "shell", "go test *"),
		says(permission.Deny, "", "", "secrets/**"),
	}
	for _, c := range []*loomv1.ToolCall{
		call("shell", `{"command": "make"}`),
		call("shell", `{"command": "go test ./..."}`),
		call("shell", `{"command": "go test ./... && make"}`),
		call("file_read", `{"path": "./secrets/key.pem"}`),
	} {
		verdict, _ := permission.Of(all, "implementer", c, false)
		fmt.Println(c.Arguments, verdict)
	}
	// Output:
	// {"command": "make"} PERMISSION_VERDICT_ASK
	// {"command": "go test ./..."} PERMISSION_VERDICT_ALLOW
	// {"command": "go test ./... && make"} PERMISSION_VERDICT_ASK
	// {"path": "./secrets/key.pem"} PERMISSION_VERDICT_DENY
}

func TestAGENT04_WhatHolds(t *testing.T) {
	for _, tt := range []struct {
		name string
		all  []*loomv1.Permission
		call *loomv1.ToolCall
		ask  bool
		want loomv1.PermissionVerdict
	}{
		{"nothing said", nil, call("shell", `{"command":"x"}`), false, permission.Allow},
		{"the role asks", nil, call("shell", `{"command":"x"}`), true, permission.Ask},
		{"allowed all the same", []*loomv1.Permission{says(permission.Allow, "", "shell", "x")}, call("shell", `{"command":"x"}`), true, permission.Allow},
		{"the newest holds", []*loomv1.Permission{says(permission.Allow, "", "shell", ""), says(permission.Ask, "", "shell", "")}, call("shell", `{"command":"x"}`), false, permission.Ask},
		{"a no wins over what came later", []*loomv1.Permission{says(permission.Deny, "", "shell", "rm *"), says(permission.Allow, "", "shell", "")}, call("shell", `{"command":"rm -r x"}`), false, permission.Deny},
		{"of another role", []*loomv1.Permission{says(permission.Deny, "lead", "", "")}, call("shell", `{}`), false, permission.Allow},
		{"of another tool", []*loomv1.Permission{says(permission.Deny, "", "file_write", "")}, call("shell", `{}`), false, permission.Allow},
		{"a path is cleaned", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("file_read", `{"path":"b/../a//x"}`), false, permission.Deny},
		{"a rooted path", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("file_read", `{"path":"/a/x"}`), false, permission.Deny},
		{"the directory itself", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("directory_list", `{"path":"a"}`), false, permission.Deny},
		{"a key in other letters", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("file_read", `{"PATH":"a/x"}`), false, permission.Deny},
		{"one path of several is denied", []*loomv1.Permission{says(permission.Deny, "", "", "a")}, call("chart_data", `{"paths":["b","a"]}`), false, permission.Deny},
		{"all of several must be allowed", []*loomv1.Permission{says(permission.Allow, "", "", "a")}, call("chart_data", `{"paths":["b","a"]}`), true, permission.Ask},
		{"all of several are", []*loomv1.Permission{says(permission.Allow, "", "", "{a,b}")}, call("chart_data", `{"paths":["b","a"]}`), true, permission.Allow},
		{"below other keys", []*loomv1.Permission{says(permission.Deny, "", "", "a/*")}, call("data_analysis", `{"table":{"path":"a/x.csv"}}`), false, permission.Deny},
		{"two commands in one", []*loomv1.Permission{says(permission.Allow, "", "shell", "go *")}, call("shell", `{"command":"go test; rm -rf ."}`), true, permission.Ask},
		{"the very command, whatever it holds", []*loomv1.Permission{says(permission.Allow, "", "shell", "go test; make")}, call("shell", `{"command":"go test; make"}`), true, permission.Allow},
		{"two commands in one, denied", []*loomv1.Permission{says(permission.Deny, "", "shell", "*rm -rf*")}, call("shell", `{"command":"go test; rm -rf ."}`), false, permission.Deny},
		{"one file of a patch is denied", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("apply_patch", `{"patch":"*** Begin Patch\n*** Update File: b\n*** Move to: ./a//x\n+y\n*** End Patch"}`), false, permission.Deny},
		{"a file that a patch deletes is denied", []*loomv1.Permission{says(permission.Deny, "", "", "a/**")}, call("apply_patch", `{"patch":"*** Begin Patch\r\n*** Add File: b\r\n+y\r\n*** Delete File:a/x\r\n*** End Patch"}`), false, permission.Deny},
		{"all files of a patch must be allowed", []*loomv1.Permission{says(permission.Allow, "", "", "a")}, call("apply_patch", `{"patch":"*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch"}`), true, permission.Ask},
		{"all files of a patch are", []*loomv1.Permission{says(permission.Allow, "", "", "{a,b}")}, call("apply_patch", `{"patch":"*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch"}`), true, permission.Allow},
		{"a line of a patch is no path", []*loomv1.Permission{says(permission.Deny, "", "", "a")}, call("apply_patch", `{"patch":"*** Begin Patch\n*** Add File: b\n+*** Delete File: a\n*** End Patch"}`), false, permission.Allow},
		{"no JSON", []*loomv1.Permission{says(permission.Allow, "", "shell", "*")}, call("shell", `{`), true, permission.Ask},
		{"an address", []*loomv1.Permission{says(permission.Allow, "", "web_fetch", "https://go.dev/*")}, call("web_fetch", `{"url":"https://go.dev/doc/a"}`), true, permission.Allow},
		{"no path is the workspace", []*loomv1.Permission{says(permission.Deny, "", "directory_list", ".")}, call("directory_list", `{}`), false, permission.Deny},
	} {
		if got, _ := permission.Of(tt.all, "implementer", tt.call, tt.ask); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestAGENT04_ExactlyIsThatAndNothingElse answers "always" for one thing.
func TestAGENT04_ExactlyIsThatAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z*?\[\]{}\\ ;&]{1,12}`)
		key, tool := "command", "shell"
		if rapid.Bool().Draw(t, "path") {
			text, key, tool = rapid.StringMatching(`[a-z*?\[\]{}]{1,6}(/[a-z*?\[\]{}]{1,6}){0,2}`), "path", "file_write"
		}
		one, other := text.Draw(t, "one"), text.Draw(t, "other")
		of := func(s string) *loomv1.ToolCall {
			data, err := json.Marshal(map[string]string{key: s})
			if err != nil {
				t.Fatal(err)
			}
			return call(tool, string(data))
		}
		pattern, ok := permission.Exactly(permission.Subjects(of(one))[0])
		p := says(permission.Allow, "", tool, pattern)
		if err := permission.Check(p); !ok || err != nil {
			t.Fatalf("%q gives %q, %t: %v", one, pattern, ok, err)
		}
		same := one == other
		if v, _ := permission.Of([]*loomv1.Permission{p}, "r", of(other), true); (v == permission.Allow) != same && !strings.ContainsAny(pattern, "*?") {
			t.Fatalf("%q for %q gives %s for %q", pattern, one, v, other)
		} else if v == permission.Allow && !same {
			t.Fatalf("%q for %q allows %q", pattern, one, other)
		}
	})
}

func TestAGENT04_Check(t *testing.T) {
	for _, tt := range []struct {
		p  *loomv1.Permission
		ok bool
	}{
		{says(permission.Deny, "", "", ""), true},
		{says(permission.Ask, "", "", ""), true},
		{says(permission.Allow, "lead", "", ""), true},
		{says(permission.Allow, "", "", ""), false},
		{says(0, "lead", "shell", ""), false},
		{says(7, "lead", "shell", ""), false},
		{says(permission.Deny, "a b", "", ""), false},
		{says(permission.Deny, "", "sh\nell", ""), false},
		{says(permission.Deny, "", "", "[a"), false},
		{says(permission.Deny, "", "", strings.Repeat("a", permission.MaxPattern)), true},
		{says(permission.Deny, "", "", strings.Repeat("a", permission.MaxPattern+1)), false},
		{nil, false},
	} {
		if err := permission.Check(tt.p); (err == nil) != tt.ok || err != nil && fault.Code(err) != "permission/invalid" {
			t.Errorf("Check(%v): %v, want ok: %t", tt.p, err, tt.ok)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("go *", `{"command":"go test"}`)
	f.Add("a/**", `{"path":"a/b"}`)
	f.Add(`\`, `{"path":["a",{"to":"b"}]}`)
	f.Fuzz(func(t *testing.T, pattern, arguments string) {
		p := says(permission.Deny, "", "", pattern)
		if permission.Check(p) != nil {
			return
		}
		permission.Of([]*loomv1.Permission{p}, "r", call("shell", arguments), false)
		p.Verdict = permission.Allow
		permission.Of([]*loomv1.Permission{p}, "r", call("shell", arguments), false)
	})
}
