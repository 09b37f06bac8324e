package toolkit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const sound = `{"name": "count_words", "description": "Counts.", "class": "write", "schema": {"type": "object"}}`

func TestPROC07_WhatAProgramSaysOfItself(t *testing.T) {
	tool, err := toolkit.ReadTool("count.sh", []byte(sound+"\n"))
	if err != nil || tool.FullName() != "pkg_count_words" || tool.Effect() != loomv1.ToolClass_TOOL_CLASS_WRITE || tool.Timeout() != time.Minute || tool.Program != "count.sh" {
		t.Errorf("%+v, %v", tool, err)
	}
	with := func(from, to string) string { return strings.Replace(sound, from, to, 1) }
	for name, text := range map[string]string{
		"nothing":            "",
		"blanks":             " \n",
		"null":               "null",
		"a list":             "[" + sound + "]",
		"two":                sound + sound,
		"something after":    sound + " x",
		"no UTF-8":           with("Counts.", "\xff"),
		"another key":        with(`"name"`, `"nam"`),
		"one more key":       with(`{"name"`, `{"network": true, "name"`),
		"no name":            with(`"count_words"`, `""`),
		"a name with a dash": with("count_words", "count-words"),
		"a long name":        with("count_words", strings.Repeat("a", 49)),
		"no description":     with("Counts.", " "),
		"a long description": with("Counts.", strings.Repeat("a", 8<<10+1)),
		"no class":           with(`"write"`, `""`),
		"another class":      with(`"write"`, `"network"`),
		"no schema":          with(`, "schema": {"type": "object"}`, ""),
		"a schema of a list": with(`"object"`, `"array"`),
		"a long schema":      with(`"object"`, `"object", "title": "`+strings.Repeat("a", 64<<10)+`"`),
		"no time":            with(`"class"`, `"timeout_seconds": -1, "class"`),
		"too much time":      with(`"class"`, `"timeout_seconds": 601, "class"`),
		"another's program":  with(`"class"`, `"program": "/bin/sh", "class"`),
	} {
		if tool, err := toolkit.ReadTool("count.sh", []byte(text)); fault.Code(err) != "tool/answer" || !strings.Contains(err.Error(), "count.sh describe") {
			t.Errorf("%s: %+v, %v", name, tool, err)
		}
	}
}

func TestPROC07_WhatAProgramAnswers(t *testing.T) {
	a, err := toolkit.ReadAnswer([]byte(`{"text": "3", "artifacts": ["a/b.txt"], "error": ""}`))
	if err != nil || a.Text != "3" || len(a.Artifacts) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := toolkit.ReadAnswer([]byte("{}")); err != nil {
		t.Errorf("nothing to say: %v", err)
	}
	for name, text := range map[string]string{
		"nothing": "", "a number": "3", "text": "done", "null": "null", "another key": `{"output": "x"}`, "no text": `{"text": 3}`, "two": "{}{}",
		"an empty path": `{"artifacts": [""]}`, "a NUL": `{"artifacts": ["a\u0000"]}`, "many": `{"artifacts": [` + strings.TrimSuffix(strings.Repeat(`"a",`, 101), ",") + `]}`,
	} {
		if a, err := toolkit.ReadAnswer([]byte(text)); fault.Code(err) != "tool/answer" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// Whatever a program writes, reading it ends in a tool that can be offered or in
// a refusal.
func FuzzTool(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(`{"name":"a","schema":{"type":"object"},"class":"read","description":"\u0000"}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		if tool, err := toolkit.ReadTool("p", output); err == nil && (tool.Name == "" || tool.Timeout() <= 0 || tool.Effect() == 0) {
			t.Errorf("%+v", tool)
		} else if err != nil && fault.Code(err) != "tool/answer" {
			t.Error(err)
		}
		if _, err := toolkit.ReadAnswer(output); err != nil && fault.Code(err) != "tool/answer" {
			t.Error(err)
		}
	})
}
