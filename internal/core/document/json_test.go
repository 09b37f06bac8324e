package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	update = flag.Bool("update", false, "write docs/schemas anew")
	given  = flag.String("examples", os.Getenv("LOOM_DOCUMENT_EXAMPLES"), "a specification of documents whose JSON examples are read")
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, name string) proto.Message {
	t.Helper()
	m, err := Read(name+".json", sample(t, name), "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func spec(t testing.TB) *loomv1.DocumentSpec {
	t.Helper()
	return read(t, "document").(*loomv1.DocumentSpec)
}

// Every artifact comes back as it was: from JSON, through the message, to JSON.
func TestDOC01_ArtifactsComeBackAsTheyWere(t *testing.T) {
	for _, name := range Kinds() {
		m := read(t, name)
		if got := KindOf(m).Name; got != name {
			t.Errorf("%s.json is taken for a %s", name, got)
		}
		again, err := Read(name, JSON(m), name)
		if err != nil {
			t.Fatalf("%s written and read: %v", name, err)
		}
		if diff := cmp.Diff(m, again, protocmp.Transform()); diff != "" {
			t.Errorf("%s came back otherwise:\n%s", name, diff)
		}
		var was, is any
		if err := json.Unmarshal(sample(t, name), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(JSON(m), &is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full(was), is); diff != "" {
			t.Errorf("%s has other JSON than its file, empty lists aside:\n%s", name, diff)
		}
	}
}

// full leaves out empty lists, which are the same as none.
func full(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = full(v[i])
		}
	case map[string]any:
		for k, e := range v {
			if list, ok := e.([]any); ok && len(list) == 0 {
				delete(v, k)
				continue
			}
			v[k] = full(e)
		}
	}
	return v
}

func TestDOC07_CanonicalBytesDoNotDependOnTheSpelling(t *testing.T) {
	for _, name := range Kinds() {
		m := read(t, name)
		var tree any
		if err := json.Unmarshal(sample(t, name), &tree); err != nil {
			t.Fatal(err)
		}
		other, err := json.MarshalIndent(tree, "\t", "   ") // keys in another order
		if err != nil {
			t.Fatal(err)
		}
		n, err := Read("", other, name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Canonical(m), Canonical(n)) || Hash(m) != Hash(n) {
			t.Errorf("%s: two spellings have two hashes", name)
		}
		if !bytes.Equal(JSON(m), JSON(proto.Clone(m))) {
			t.Errorf("%s: one artifact, two texts", name)
		}
	}
	a, b := spec(t), spec(t)
	b.Sections[1].Table.Rows[0].Values[3].Kind = a.Sections[1].Table.Rows[1].Values[3].Kind
	if Hash(a) == Hash(b) {
		t.Error("another number in a cell, and the same hash")
	}
	if want := "sha256:"; !strings.HasPrefix(Hash(a), want) || len(Hash(a)) != len(want)+64 {
		t.Errorf("Hash = %q, want sha256: and 64 digits", Hash(a))
	}
}

var (
	comment     = regexp.MustCompile(`(?m)//.*$`)
	alternative = regexp.MustCompile(`("[^"]*")(?:\s*\|\s*"[^"]*")+`)
	fenced      = regexp.MustCompile("(?s)```jsonc?\n(.*?)```")
)

// examples reads the JSON blocks of a specification: of alternatives the first,
// comments dropped, nothing else changed.
func examples(text string) (list []string) {
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		block := alternative.ReplaceAllString(m[1], "$1")
		if !json.Valid([]byte(block)) {
			block = comment.ReplaceAllString(block, "")
		}
		list = append(list, block)
	}
	return list
}

// The specification of the pipeline has five artifacts in JSON; with -examples FILE
// they are read from it, else the ones of testdata, which have the same shapes.
func TestDOC01_ExamplesOfTheSpecificationAreTaken(t *testing.T) {
	blocks := examples("```jsonc\n" + `{"version": "0.1", "artifactType": "docx" | "xlsx", "purpose": "x", // why` + "\n" +
		`"sections": [{"id": "a", "title": "b"}]}` + "\n```")
	for _, name := range []string{"document", "review", "patches", "record"} {
		blocks = append(blocks, string(sample(t, name)))
	}
	if *given != "" {
		data, err := os.ReadFile(*given)
		if err != nil {
			t.Fatal(err)
		}
		blocks = examples(string(data))
	}
	want := []string{"outline", "document", "review", "patches", "record"}
	if len(blocks) != len(want) {
		t.Fatalf("%d examples, want %d", len(blocks), len(want))
	}
	artifacts := map[string]proto.Message{}
	for i, b := range blocks {
		m, err := Read(want[i], []byte(b), "")
		if err != nil {
			t.Fatalf("example %d: %v", i+1, err)
		}
		if KindOf(m).Name != want[i] {
			t.Errorf("example %d is taken for a %s, want %s", i+1, KindOf(m).Name, want[i])
		}
		validate(t, want[i], []byte(b))
		artifacts[want[i]] = m
	}
	// The review's own patches fit the document: the first renames a header that keys a total.
	report := artifacts["review"].(*loomv1.ReviewReport)
	patched, result := Apply(artifacts["document"], report.RecommendedPatches)
	if result.Refused != 0 {
		t.Errorf("patches of the example were refused: %v", result)
	}
	table := patched.(*loomv1.DocumentSpec).Sections[1].Table
	if name := report.RecommendedPatches[0].Value.GetStringValue(); table.Headers[3] != name || table.Totals[name] == nil {
		t.Errorf("after the rename to %q the table has %v and totals %v", name, table.Headers, table.Totals)
	}
	// What the rules find in it, they can mend.
	mended, _ := Apply(patched, Review{}.Run(patched).RecommendedPatches)
	if again := (Review{}).Run(mended); again.GetBlockCommit() {
		t.Errorf("the example is still blocked after its patches: %v", again.Findings)
	}
}

func validate(t *testing.T, kind string, data []byte) {
	t.Helper()
	text, err := Schema(kind)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("the schema of %s: %v", kind, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("the schema of %s refuses what is taken: %v", kind, err)
	}
}

// The schemas are those of the page, and take what Read takes.
func TestDOC01_SchemasArePublished(t *testing.T) {
	for _, name := range Kinds() {
		validate(t, name, sample(t, name))
		text, err := Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "..", "docs", "schemas", name+".schema.json")
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if written, err := os.ReadFile(file); err != nil || !bytes.Equal(written, text) {
			t.Errorf("%s is not the schema (%v): go test ./internal/core/document -run Schemas -update", file, err)
		}
	}
}

// All that is wrong is told at once, each by its path.
func TestDOC01_EverythingWrongIsToldAtOnce(t *testing.T) {
	_, err := Read("spec.json", []byte(`{"version": "0.3", "tittle": "x", "sections": [
		{"id": "a", "heading": "A", "level": 2.5, "bullets": [1]},
		{"id": "a", "heading": "B", "callouts": [{"kind": "risky", "text": ""}],
		 "table": {"headers": ["x", "y"], "rows": [[1]], "totals": {"z": 1}}}], "figures": {}}`), "document")
	want := []string{
		`spec.json: figures: figures is an object, not a list`,
		`spec.json: sections[0].bullets[0]: sections[0].bullets[0] is a number, not a text`,
		`spec.json: sections[0].level: sections[0].level is not a whole number (got "2.5")`,
		`spec.json: sections[1].callouts[0].kind: sections[1].callouts[0].kind does not take this word (got "risky"); did you mean "risk"?`,
		`spec.json: sections[1].callouts[0].text: text is missing`,
		`spec.json: sections[1].id: there are two of this name (got "a")`,
		`spec.json: tittle: the document has no such key (got "tittle"); did you mean "title"?`,
		`spec.json: version: version does not take this word (got "0.3"); did you mean "0.2"?`,
		`spec.json: title: title is missing`,
	}
	var lines []string
	if err != nil {
		lines = strings.Split(errorLines(err), "\n")
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestDOC01_WhatIsNoJSONIsRefusedAtItsPlace(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "spec.json:1:1: it is not JSON: it ends in the middle of a value"},
		{"{\"version\": \"0.2\",\n \"title\" 1}", "spec.json:2:10: it is not JSON: invalid character '1' after object key"},
		{`{"version": "0.2", "version": "0.2"}`, "spec.json:1:29: version is there twice"},
		{`{} {}`, "spec.json:1:5: there is more after the first value"},
		{`{"x": 1e999}`, `spec.json:1:12: x is a number that cannot be kept (got "1e999")`},
		{"{\"title\": \"\xff\"}", "spec.json: it is not UTF-8"},
		{strings.Repeat("[", 40), "spec.json:1:34: it is nested deeper than 32 levels"},
	} {
		_, err := Read("spec.json", []byte(tt.text), "")
		if err == nil || err.Error() != tt.want {
			t.Errorf("Read(%.40q) = %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestDOC07_GuardrailsAtTheirEdges(t *testing.T) {
	sections := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id": "s%d", "heading": "H %d"}`, i, i))
		}
		return `{"version": "0.2", "title": "x", "sections": [` + strings.Join(list, ",") + `]}`
	}
	rows := func(n int) string {
		return `{"version": "0.2", "title": "x", "sections": [{"id": "s", "heading": "H", "table": {"headers": ["a"], "rows": [` +
			strings.TrimSuffix(strings.Repeat("[1],", n), ",") + `]}}]}`
	}
	for _, tt := range []struct {
		text, want string
	}{
		{sections(50), ""},
		{sections(51), "sections: 51 elements; at most 50 are taken"},
		{rows(2000), ""},
		{rows(2001), "sections[0].table.rows: 2001 elements; at most 2000 are taken"},
	} {
		_, err := Read("", []byte(tt.text), "document")
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("Read(%.60q...) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestDOC02_TheMinimalOutlineIsAnOutline(t *testing.T) {
	for _, tt := range []struct {
		goal string
		want []string
	}{
		{"Compare three stores", []string{"Compare three stores"}},
		{"A report\n- Costs\n- Risks\n", []string{"Costs", "Risks"}},
		{"# Plan\n## First\ntext\n## Second", []string{"First", "Second"}},
		{"", []string{"Not stated"}},
		{"\n\n#  \n", []string{"Untitled"}},
		{strings.Repeat("é", 4000), []string{strings.Repeat("é", 60)}},
		{strings.Repeat("- x\n", 80), slicesOf("x", 50)},
		{strings.Repeat("words, ", 30), []string{strings.TrimSuffix(strings.Repeat("words, ", 17), ", ")}}, // it ends with a whole one
	} {
		o := Minimal("docx", tt.goal)
		var titles []string
		for _, s := range o.Sections {
			titles = append(titles, s.Title)
		}
		if tt.goal == "" || strings.TrimSpace(tt.goal) == "#" {
			titles = []string{o.Title}
		}
		if diff := cmp.Diff(tt.want, titles); diff != "" {
			t.Errorf("Minimal(%.30q) (-want +got):\n%s", tt.goal, diff)
		}
		if _, err := Read("", JSON(o), "outline"); err != nil {
			t.Errorf("Minimal(%.30q) is not an outline: %v", tt.goal, err)
		}
	}
}

func slicesOf(s string, n int) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}
