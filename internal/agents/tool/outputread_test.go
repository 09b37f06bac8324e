package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
)

func TestREAL05_OutputRead(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	results := map[string]string{"c1-1": text.String(), "c2-1": "one\ntwo", "c3-1": ""}
	s := tool.New(tool.Workspace{Root: t.TempDir(), Outputs: func(_ context.Context, call string) (string, error) {
		if r, ok := results[call]; ok {
			return r, nil
		}
		return "", fault.New("tool/not-found", "no call has that id").Got(call)
	}}, nil)
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"call": "c2-1"}, "     1\tone\n     2\ttwo\n[end of the result, 2 lines, the last without a line break]\n"},
		{args{"call": "c1-1", "offset": 30_000, "limit": 2}, " 30000\tline 30000\n 30001\tline 30001\n[lines 30000 to 30001 of 60000; go on with offset 30002]\n"},
		{args{"call": "c1-1", "pattern": "^line 5999[89]$"}, " 59998\tline 59998\n 59999\tline 59999\n[2 of 2 matching lines, of 60000 lines]\n"},
		{args{"call": "c1-1", "pattern": "7$", "offset": 100, "limit": 1}, "   107\tline 107\n[1 of 5990 matching lines, of 60000 lines]\n"},
		{args{"call": "c1-1", "pattern": "none"}, "no line of 60000 matches\n"},
		{args{"call": "c3-1"}, "[the result is empty]\n"},
		{args{"call": "c2-1", "offset": 3}, "tool/arguments: offset: the result has 2 lines (got \"3\")\n"},
		{args{"call": "c9-1"}, "tool/not-found: no call has that id (got \"c9-1\")\n"},
		{args{"call": "c1-1", "pattern": "("}, "tool/arguments: /pattern: it is not a regular expression: error parsing regexp: missing closing ): `(` (got \"(\"); put a backslash before each of ( ) [ ] { } + * ? . | that is meant as it stands\n"},
	} {
		if r := do(t, s, "output_read", tt.args); r.Output != tt.want {
			t.Errorf("output_read %v:\n%q, want\n%q", tt.args, r.Output, tt.want)
		}
	}
	for _, a := range []args{{"call": "c1-1"}, {"call": "c1-1", "pattern": "line"}} {
		if r := ok(t, do(t, s, "output_read", a)); len(r.Output) > tool.Shown || len(r.Output) < tool.Shown-1<<10 {
			t.Errorf("output_read %v: %d bytes", a, len(r.Output))
		}
	}
	if r := do(t, tool.New(tool.Workspace{Root: t.TempDir()}, nil), "output_read", args{"call": "c1"}); r.Code != "tool/failed" {
		t.Errorf("where no results are kept: %s", r.Output)
	}
}
