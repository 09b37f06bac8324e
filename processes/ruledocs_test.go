package processes_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// typesPage is the part of the page that the table of types makes.
func typesPage() string {
	var b strings.Builder
	b.WriteString("| type | what holds | `check` | `with` | files |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range verify.Kinds() {
		var params []string
		for _, p := range k.Params {
			needed := ""
			if p.Required {
				needed = ", required"
			}
			params = append(params, fmt.Sprintf("`%s` (%s%s): %s", p.Name, p.Form, needed, p.About))
		}
		check := k.Check
		if k.Spare {
			check += ", or none"
		}
		files := strings.Join(k.Files, ", ")
		if files == "" {
			files = "all that can be looked into"
		}
		if k.Output {
			files += "; `output`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, strings.ReplaceAll(k.About, "|", `\|`), check, strings.Join(params, "; "), files)
	}
	b.WriteString("\nAn example of each:\n\n```yaml\n")
	for _, k := range verify.Kinds() {
		b.WriteString("- " + k.Example + "\n")
	}
	return b.String() + "```\n"
}

// The page tells of each type what its table says, and each example is a sound rule.
func TestPROC05_TheDocsTellOfEveryTypeOfRules(t *testing.T) {
	const file, begin, end = "../docs/processes.md", "<!-- types of rules -->\n", "<!-- end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the types", file)
	}
	if want := before + begin + typesPage() + end + after; want != string(data) {
		if !*update {
			t.Errorf("%s does not say what the table of types does; see -update", file)
		} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, k := range verify.Kinds() {
		for _, word := range strings.FieldsFunc(k.Example, func(r rune) bool { return strings.ContainsRune(" {}[],'\"", r) }) {
			if strings.Contains(word, ".") && !strings.HasSuffix(word, ".") && !strings.ContainsAny(word, "*0") {
				names = append(names, word)
			}
		}
	}
	var b strings.Builder
	b.WriteString("name: x\nversion: \"1.0\"\nphases:\n  - {id: a, description: Do it., deliverables: [")
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			b.WriteString(n + ", ")
		}
	}
	b.WriteString("last.md]}\nverification:\n  rules:\n")
	for _, k := range verify.Kinds() {
		b.WriteString("    - " + k.Example + "\n")
	}
	rs := roles.Builtin()
	r := processes.Read(processes.Builtin(rs), []processes.Source{{File: "x.yaml", Data: []byte(b.String())}}, rs)[0]
	if len(r.Problems) > 0 || len(r.Definition.GetGuide().GetRules()) != len(verify.Kinds()) {
		t.Fatalf("%v\n%s", r.Problems, b.String())
	}
	// what is written is read again as the same
	for _, w := range r.Definition.Guide.Rules {
		if w.Type.String() == "RULE_TYPE_SCHEMA" && w.With.Fields["schema"] == nil {
			t.Error("the schema was lost")
		}
	}
	again, err := processes.Parse("x.yaml", processes.Write(r.Definition), rs)
	if err != nil || processes.Hash(again) != processes.Hash(r.Definition) {
		t.Errorf("it is not read as it was written: %v", err)
	}
}
