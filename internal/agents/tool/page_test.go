package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

var (
	pageBlock = regexp.MustCompile("(?ms)^```(json|csv [a-z.]+)\n(.*?)^```\n")
	packed    = regexp.MustCompile(`(\.xlsx: [a-z]+, )\d+ bytes`) // as the packer of the day makes it
	pageReply = regexp.MustCompile("(?s)^\n```text\n(.*?)```\n")
)

// Every call on the page of tools has the answer that stands there. With
// UPDATE_PAGE=1 the page gets the answers; read the difference.
func TestTOOL01_TheToolsPageIsTrue(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "tools.md")
	page := get(t, path)
	s, root := world(t)
	var now strings.Builder
	used := map[string]bool{}
	rest := page
	for {
		m := pageBlock.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		now.WriteString(rest[:m[1]])
		kind, text := rest[m[2]:m[3]], rest[m[4]:m[5]]
		rest = rest[m[1]:]
		if name, ok := strings.CutPrefix(kind, "csv "); ok {
			put(t, root, map[string]string{name: text})
			continue
		}
		reply := pageReply.FindStringIndex(rest)
		if reply == nil {
			t.Fatalf("no answer after %s", text)
		}
		rest = rest[reply[1]:]
		name, answer := replay(t, s, text)
		used[name] = true
		now.WriteString("\n```text\n" + answer + "```\n")
	}
	now.WriteString(rest)
	if os.Getenv("UPDATE_PAGE") != "" {
		if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(page, now.String()); diff != "" {
		t.Errorf("the page and the answers differ (-page +answers):\n%s", diff)
	}
	for _, name := range everything[slices.Index(everything, "calculator"):slices.Index(everything, tool.OutputRead)] {
		if !used[name] {
			t.Errorf("the page has no call of %s", name)
		}
	}
}

// replay makes a call of the page and returns its answer, in lines that a page
// can show.
func replay(t *testing.T, s *tool.Set, text string) (name, answer string) {
	t.Helper()
	var c struct {
		Tool      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r := s.Call(context.Background(), everything, 0, &loomv1.ToolCall{Id: "c1", Tool: c.Tool, Arguments: string(c.Arguments)})
	answer = packed.ReplaceAllString(r.Output, "${1}N bytes")
	return c.Tool, strings.TrimSuffix(answer, "\n") + "\n"
}

// Roles and processes can name each tool that there is, and no other.
func TestTOOL01_RolesCanNameEveryTool(t *testing.T) {
	s := tool.New(tool.Workspace{}, nil)
	var have []string
	for _, spec := range s.Specs(append(roles.KnownTools(), tool.OutputRead)) {
		have = append(have, spec.Name)
	}
	if len(have) != len(roles.KnownTools())+1 || len(have) != len(everything) {
		t.Errorf("roles know %q, there are %q", roles.KnownTools(), have)
	}
}
