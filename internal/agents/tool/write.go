package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const maxWrite = 1 << 20 // bytes of a file that tools write

var fileWrite = &tool{
	Spec: Spec{
		Name:        "file_write",
		Class:       writes,
		Description: "Write a file of at most 1 MiB, whole, with its directories. To change a part of one use file_edit.",
		Schema: schema(`"path","content"`, `
			"path": {"type": "string", "minLength": 1},
			"content": {"type": "string"}`),
	},
	run:       with(writeFile),
	reconcile: reconcileWrite,
}

type writeArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func writeFile(ctx context.Context, j job, a writeArguments) (Result, error) {
	if absent := j.notHere(ctx, a.Path); absent != nil { // nobody has seen what would be replaced
		return Result{}, absent
	}
	p, err := j.target(a.Path, a.Content, true)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	old, _, err := p.content(maxWrite)
	switch {
	case err == nil && string(old) == a.Content:
		return done("the file had this content already\n", "%s: unchanged", p.path), nil
	case err != nil && fault.Code(err) != "tool/not-found" && fault.Code(err) != "tool/too-large":
		return Result{}, err
	}
	existed := err == nil || fault.Code(err) == "tool/too-large"
	if err := p.replace([]byte(a.Content), j.id); err != nil {
		return Result{}, err
	}
	return wrote(p.path, existed, len(a.Content)), nil
}

func wrote(path string, existed bool, bytes int) Result {
	verb := "written"
	if existed {
		verb = "replaced"
	}
	r := done("", "%s: %s, %d bytes", path, verb, bytes)
	r.Output, r.Changed = r.Summary+"\n", []string{path}
	return r
}

// target locates a file that is to get content.
func (s *Set) target(path, content string, make bool) (place, error) {
	if s.ws.ReadOnly {
		return place{}, fault.New("tool/denied", "this workspace is read-only").At("path").Got(path)
	}
	if len(content) > maxWrite {
		return place{}, fault.New("tool/too-large", "the content has %d bytes; at most %d are written", len(content), maxWrite).At("content")
	}
	p, err := s.locate(path, how{make: make})
	if err != nil {
		return place{}, err
	}
	if p.name == "." || strings.HasSuffix(path, "/") {
		p.close()
		return place{}, fault.New("tool/arguments", "it names a directory, not a file").At("path").Got(path)
	}
	return p, nil
}

// digest names something by what it belongs to.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// left looks at what a call of a tool that writes files and was cut off left
// of its file; a draft of it is swept away.
func (s *Set) left(path, id string) (data []byte, at string, err error) {
	p, err := s.locate(path, how{})
	if err != nil {
		return nil, "", err
	}
	defer p.close()
	if err := p.sweep(id); err != nil {
		return nil, "", err
	}
	data, _, err = p.content(maxWrite)
	return data, p.path, err
}

// reconcileWrite looks whether the file has the content. As it is replaced in
// one step, it was not touched if it has another.
func reconcileWrite(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a writeArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly {
		return Result{}, false
	}
	data, path, err := s.left(a.Path, call.Id)
	if err != nil || !bytes.Equal(data, []byte(a.Content)) {
		return Result{}, false
	}
	return wrote(path, false, len(a.Content)), true
}
