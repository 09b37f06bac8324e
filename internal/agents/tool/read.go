package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	others "github.com/loomrun/loom/internal/craft/foreign"
)

const (
	maxScan   = 64 << 20 // bytes of a file that is looked through for lines
	lineWidth = 2000     // bytes of a line that are shown among others
)

var fileRead = &tool{
	Spec: Spec{
		Name:  "file_read",
		Class: reads,
		Description: "Read a text file, what a docx, xlsx, pptx or pdf says, whole or from line offset on, or look at a picture. Each line comes behind its number and a tab, " +
			"which are no part of the file. The last line, in brackets, says whether there is more.",
		Schema: schema(`"path"`, `
			"path": {"type": "string", "minLength": 1},
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
	head, _ := in.Peek(8 << 10)
	if media := http.DetectContentType(head); pictures[media] {
		return j.readPicture(p, media)
	}
	if others.Known(head) {
		return j.readForeign(ctx, p, a)
	}
	if binary(head) {
		return Result{}, fault.New("tool/failed", "the file is not text; it has %d bytes", info.Size()).At("path").Got(a.Path)
	}
	w := newWindow("file", a.Offset, a.Limit, j.room())
	if err := w.scan(ctx, in); err != nil {
		return Result{}, err
	}
	return w.result(p.path)
}

// readForeign shows what a file of an office program says, as Markdown.
func (j job) readForeign(ctx context.Context, p place, a readArguments) (Result, error) {
	data, info, err := p.content(others.MaxFile)
	if err != nil {
		return Result{}, err
	}
	d, err := others.Read(data, ctx.Err)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		return Result{}, fault.New("tool/failed", "the file is not text; it has %d bytes, and %s", info.Size(), fault.From(err).Proto().Message).At("path").Got(a.Path)
	}
	w := newWindow("file", a.Offset, a.Limit, j.room())
	if err := w.scan(ctx, bufio.NewReader(strings.NewReader(d.Markdown()))); err != nil {
		return Result{}, err
	}
	return w.result(p.path)
}

// window is the lines of a file, or of a result, that were asked for, as they are shown: each
// behind its number and a tab.
type window struct {
	of          string // what the lines are of
	first, most int    // lines; most 0 is no bound
	room        int    // bytes of text
	width       int    // bytes of a line that are shown
	text        bytes.Buffer
	kept, lines int  // lines in text; of the file
	cut         bool // the file goes on behind text
	shown, left int  // bytes of the line at hand in text; not in it
	whole       bool // the line at hand ended with a line break
}

// newWindow returns a window of so many lines from offset on, in room bytes. A
// line that is asked for alone is shown as far as there is room.
func newWindow(of string, offset, limit, room int) *window {
	w := &window{of: of, first: max(offset, 1), most: limit, room: room, width: min(lineWidth, room/2)}
	if w.most == 1 {
		w.width = room - 128
	}
	return w
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
			w.endLine()
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return trouble("", err)
		}
	}
}

// take shows the next piece of a line, the first when it begins.
func (w *window) take(piece []byte, begin bool) {
	if w.lines < w.first || w.cut {
		return
	}
	if begin && !w.beginLine(len(piece)) {
		return
	}
	body, whole := bytes.CutSuffix(piece, []byte("\n"))
	w.whole = whole
	n := len(body)
	if room := w.width - w.shown; n > room {
		n = runeStart(string(body), max(room, 0))
	}
	if w.left > 0 {
		n = 0 // what was cut off stays so
	}
	w.text.Write(body[:n])
	w.shown, w.left = w.shown+n, w.left+len(body)-n
	if whole {
		w.endLine()
	}
}

// beginLine begins to show a line of at least size bytes, if it belongs to the
// window and there is room for it.
func (w *window) beginLine(size int) bool {
	const beside = 64 // bytes of a number, and of the word on what is cut
	if w.most > 0 && w.kept == w.most || w.kept > 0 && w.text.Len()+min(size, w.width)+beside > w.room {
		w.cut = true
		return false
	}
	w.kept++
	w.shown, w.left = 0, 0
	fmt.Fprintf(&w.text, "%6d\t", w.lines)
	return true
}

// endLine ends the line that was shown last, if it was not ended yet.
func (w *window) endLine() {
	if b := w.text.Bytes(); w.cut || len(b) == 0 || b[len(b)-1] == '\n' {
		return
	}
	if w.left > 0 {
		fmt.Fprintf(&w.text, " [%d more bytes in this line]", w.left)
	}
	w.text.WriteByte('\n')
}

func (w *window) result(path string) (Result, error) {
	last := w.first + w.kept - 1
	switch {
	case w.lines == 0:
		return done("[the "+w.of+" is empty]\n", "%s: empty", path), nil
	case w.kept == 0:
		return Result{}, fault.New("tool/arguments", "the %s has %d lines", w.of, w.lines).At("offset").Got(fmt.Sprint(w.first))
	case last < w.lines:
		fmt.Fprintf(&w.text, "[lines %d to %d of %d; go on with offset %d]\n", w.first, last, w.lines, last+1)
	case !w.whole:
		fmt.Fprintf(&w.text, "[end of the %s, %d lines, the last without a line break]\n", w.of, w.lines)
	default:
		fmt.Fprintf(&w.text, "[end of the %s, %d lines]\n", w.of, w.lines)
	}
	return done(w.text.String(), "%s: lines %d to %d of %d", path, w.first, last, w.lines), nil
}
