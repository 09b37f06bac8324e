package processes_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// page is what users read of the format.
func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The example of the page is sound, beside the process that it names.
func TestWF01_TheExampleOfTheDocsIsSound(t *testing.T) {
	_, text, _ := strings.Cut(page(t), "\n```yaml\n")
	text, _, ok := strings.Cut(text, "\n```\n")
	if !ok {
		t.Fatal("there is no example")
	}
	rs := roles.Builtin()
	files := []processes.Source{{File: "workflows.md", Data: []byte(text)}, using("background-check")}
	if got := told(processes.Read(processes.Builtin(rs), files, rs)); got != nil {
		t.Error(strings.Join(got, "\n"))
	}
}

// The page tells of every key there is, and of none that there is not.
func TestWF01_TheDocsTellOfEveryKey(t *testing.T) {
	var keys []string
	for _, of := range processes.Shape() {
		for i := range of.NumField() {
			keys = append(keys, of.Field(i).Tag.Get("yaml"))
		}
	}
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*)\\|[^|]*\\|[^|]*\\|[^|]*\\|$").FindAllStringSubmatch(page(t), -1) {
		for _, key := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(row[1], -1) {
			told = append(told, key[1][strings.LastIndexByte(key[1], '.')+1:])
		}
	}
	text := page(t)
	for _, key := range keys {
		named := slices.Contains(told, key) || strings.Contains(text, "`"+key+".") || slices.Contains([]string{"initial", "limit"}, key)
		if !named {
			t.Errorf("docs/workflows.md has no row for the key %q", key)
		}
	}
	for _, key := range told {
		if !slices.Contains(keys, key) {
			t.Errorf("docs/workflows.md tells of the key %q, which nobody reads", key)
		}
	}
}

// Every key of a file finds its way into the definition, and out again.
func TestWF01_EveryKeyIsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/every-key.yaml")
	if err != nil {
		t.Fatal(err)
	}
	def, err := processes.Parse("every-key.yaml", data, roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	if got := processes.Hash(def); got != "c22e6e75fb96794d5fadc70830f344a2e97aa39cf93a253f81ca31d1bb45e584" {
		t.Errorf("the hash is %s: a file that did not change must not change its meaning", got)
	}
	var node loomv1.NodeDefinition
	seen := map[string]bool{}
	for _, n := range def.Nodes {
		v := reflect.ValueOf(n).Elem()
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				seen[f.Name] = true
			}
		}
	}
	for i := range reflect.TypeOf(&node).Elem().NumField() {
		if f := reflect.TypeOf(&node).Elem().Field(i); f.IsExported() && !seen[f.Name] {
			t.Errorf("no key of the file sets %s", f.Name)
		}
	}
}
