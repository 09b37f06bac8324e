package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Words that a program is asked with.
const (
	Describe = "describe"
	Call     = "call"
)

// MaxOutput is the most bytes that a program may write on its standard output.
const MaxOutput = 1 << 20

// Bounds of what a program may say of its tool.
const (
	maxDescription = 8 << 10  // bytes
	maxSchema      = 64 << 10 // bytes
	maxArtifacts   = 100
	defaultTimeout = time.Minute
	maxTimeout     = 10 * time.Minute
)

// Prefix begins the names by which agents call tools of packages.
const Prefix = "pkg_"

// Tool is what a program says of itself.
type Tool struct {
	// Name is 1 to 48 of a-z, 0-9 and _, beginning with a letter.
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	// Class is "read": it changes nothing, and cannot; "write": it changes files
	// of the workspace, and doing it again does no harm; or "exec": anything
	// else, which is not done again when nobody knows whether it was done.
	Class string `json:"class"`
	// Seconds that a call may take: 1 to 600. Zero means 60.
	Seconds int `json:"timeout_seconds,omitempty"`
	// Program is the file, below the package's tools/.
	Program string `json:"program,omitempty"`
}

var (
	toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	classes  = map[string]loomv1.ToolClass{
		"read": loomv1.ToolClass_TOOL_CLASS_READ, "write": loomv1.ToolClass_TOOL_CLASS_WRITE, "exec": loomv1.ToolClass_TOOL_CLASS_EXEC,
	}
)

// FullName is what agents call the tool.
func (t Tool) FullName() string { return Prefix + t.Name }

// Effect is the tool's class.
func (t Tool) Effect() loomv1.ToolClass { return classes[t.Class] }

// Timeout is how long a call may take.
func (t Tool) Timeout() time.Duration {
	if t.Seconds == 0 {
		return defaultTimeout
	}
	return time.Duration(t.Seconds) * time.Second
}

// ReadTool reads what a program wrote when it was asked to describe itself. All
// that is wrong is tool/answer.
func ReadTool(program string, output []byte) (t Tool, err error) {
	if err := strict(output, &t); err != nil {
		return t, err.At(program + " " + Describe)
	}
	problem := func(key, format string, args ...any) { // the first is told
		if err == nil {
			err = fault.New("tool/answer", format, args...).At(program + " " + Describe + ": " + key)
		}
	}
	if !toolName.MatchString(t.Name) {
		problem("name", "a name is 1 to 48 of a-z, 0-9 and _, beginning with a letter, and not %q", cut(t.Name))
	}
	if d := strings.TrimSpace(t.Description); d == "" || len(d) > maxDescription {
		problem("description", "a description has 1 to %d bytes", maxDescription)
	}
	if _, ok := classes[t.Class]; !ok {
		problem("class", "a class is read, write or exec, and not %q", cut(t.Class))
	}
	if time.Duration(t.Seconds)*time.Second > maxTimeout || t.Seconds < 0 {
		problem("timeout_seconds", "a call may take 1 to %d seconds", maxTimeout/time.Second)
	}
	var schema struct {
		Type string `json:"type"`
	}
	if len(t.Schema) > maxSchema || json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object" {
		problem("schema", `a schema is a JSON Schema of at most %d bytes with "type": "object"`, maxSchema)
	}
	if t.Program != "" {
		problem("program", "this key is not a program's to say")
	}
	t.Program = program
	return t, err
}

// Answer is what a program says when it was called.
type Answer struct {
	// Text is for the model.
	Text string `json:"text"`
	// Artifacts are files that it has made or changed, relative to the workspace.
	Artifacts []string `json:"artifacts"`
	// Error says why it refuses; with it the call has failed.
	Error string `json:"error"`
}

// ReadAnswer reads what a program wrote when it was called. What is wrong is
// tool/answer.
func ReadAnswer(output []byte) (a Answer, err error) {
	if err := strict(output, &a); err != nil {
		return a, err
	}
	if len(a.Artifacts) > maxArtifacts {
		return a, fault.New("tool/answer", "it names %d artifacts, more than %d", len(a.Artifacts), maxArtifacts)
	}
	if i := slices.IndexFunc(a.Artifacts, func(p string) bool { return p == "" || strings.ContainsRune(p, 0) }); i >= 0 {
		return a, fault.New("tool/answer", "artifacts[%d] is no path", i)
	}
	return a, nil
}

// strict reads one JSON object with no key but those of v.
func strict(output []byte, v any) *fault.Error {
	const want = "one JSON object on standard output, and nothing else"
	if !utf8.Valid(output) {
		return fault.New("tool/answer", "what it wrote is no UTF-8").Want(want)
	}
	if len(bytes.TrimSpace(output)) == 0 {
		return fault.New("tool/answer", "it wrote nothing").Want(want)
	}
	if bytes.TrimSpace(output)[0] != '{' {
		return fault.New("tool/answer", "what it wrote is no JSON object").Got(cut(string(output))).Want(want)
	}
	d := json.NewDecoder(bytes.NewReader(output))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault.New("tool/answer", "what it wrote cannot be read: %s", cut(err.Error())).Got(cut(string(output))).Want(want)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fault.New("tool/answer", "it wrote something after its answer").Want(want)
	}
	return nil
}

func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
