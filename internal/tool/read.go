package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/loomrun/loom/internal/fault"
)

const (
	maxRead = MaxOutput - 1<<10 // bytes of one file_read
	maxScan = 64 << 20          // bytes of a file that is looked through for lines
)

var fileRead = &tool{
	Spec: Spec{
		Name:  "file_read",
		Class: reads,
		Description: "Read a text file of the workspace, whole or from line offset on. " +
			"At most 255 KiB are given at once; what was cut is said in a last line in brackets.",
		Schema: schema(`"path"`, `
			"path": {"type": "string", "minLength": 1, "description": "relative to the workspace"},
			"offset": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
			"limit": {"type": "integer", "minimum": 1, "description": "most lines"}`),
	},
	run: with(readFile),
}

type readArguments struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func readFile(ctx context.Context, j job, a readArguments) (Result, error) {
	p, err := j.locate(a.Path, how{links: true})
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	f, info, err := p.open()
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if info.Size() > maxScan {
		return Result{}, fault.New("tool/too-large", "the file has %d bytes; at most %d are read", info.Size(), maxScan).At("path").
			Got(a.Path).Want("use content_search, or shell")
	}
	in := bufio.NewReaderSize(io.LimitReader(f, maxScan), 64<<10)
	if head, _ := in.Peek(8 << 10); binary(head) {
		return Result{}, fault.New("tool/failed", "the file is not text; it has %d bytes", info.Size()).At("path").Got(a.Path)
	}
	w := window{first: max(a.Offset, 1), most: a.Limit}
	if err := w.scan(ctx, in); err != nil {
		return Result{}, err
	}
	return w.result(p.path)
}

// window is the lines of a file that were asked for.
type window struct {
	first, most int // lines; most 0 is no bound
	text        bytes.Buffer
	kept, lines int // lines in text; of the file
	cut         bool
	half        bool // the last line in text is not whole
}

// scan reads all lines and keeps those of the window, as far as there is room.
func (w *window) scan(ctx context.Context, in *bufio.Reader) error {
	for begin := true; ; {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			if begin {
				w.lines++
				if w.lines%1024 == 0 && ctx.Err() != nil {
					return ended(ctx)
				}
			}
			w.take(piece, begin)
		}
		begin = err == nil
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return trouble("", err)
		}
	}
}

func (w *window) take(piece []byte, begin bool) {
	if w.lines < w.first || w.cut {
		return
	}
	if begin && w.most > 0 && w.kept == w.most {
		w.cut = true
		return
	}
	room := maxRead - w.text.Len()
	if len(piece) > room && (begin && w.kept > 0) {
		w.cut = true
		return
	}
	if begin {
		w.kept++
	}
	if len(piece) > room {
		piece, w.cut, w.half = piece[:room], true, true
	}
	w.text.Write(piece)
}

func (w *window) result(path string) (Result, error) {
	last := w.first + w.kept - 1
	switch {
	case w.lines == 0:
		return done("[the file is empty]\n", "%s: empty", path), nil
	case w.kept == 0:
		return Result{}, fault.New("tool/arguments", "the file has %d lines", w.lines).At("offset").Got(fmt.Sprint(w.first))
	case w.half:
		fmt.Fprintf(&w.text, "\n[cut inside line %d of %d, which is too long to show]\n", last, w.lines)
	case w.cut || w.first > 1:
		w.note(last)
	}
	return done(w.text.String(), "%s: lines %d to %d of %d", path, w.first, last, w.lines), nil
}

// note says which part of the file this is.
func (w *window) note(last int) {
	if b := w.text.Bytes(); b[len(b)-1] != '\n' {
		w.text.WriteByte('\n')
	}
	fmt.Fprintf(&w.text, "[lines %d to %d of %d", w.first, last, w.lines)
	if last < w.lines {
		fmt.Fprintf(&w.text, "; go on with offset %d", last+1)
	}
	w.text.WriteString("]\n")
}
