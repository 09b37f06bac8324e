// Package office makes files of document specs: docx, pdf, pptx, xlsx, md and html.
//
// It promises that the same spec and style give the same bytes; that what a format
// cannot show is told and not dropped in silence ([Result.Downgrades]); that files have
// real headings, lists, header rows and alternative texts, which screen readers and
// outlines find; and that what it wrote comes back to its spec ([Open]), for docx,
// xlsx, pptx and html.
//
// It reads no file and no font of the machine, and knows no clock: pictures are given
// to it, and dates are those of the spec.
package office

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Formats are the kinds of files, by the ending of their names.
var Formats = []string{"docx", "html", "md", "pdf", "pptx", "xlsx"}

// Options are what a file is made with, besides its spec.
type Options struct {
	// Style is what the spec's own styles leave open. Nil: Loom's.
	Style *loomv1.DocumentStyles
	// Image returns the bytes of a picture that the spec names, png or jpeg. Nil: there
	// are none, and figures of pictures are downgraded to their texts.
	Image func(name string) ([]byte, error)
	// Carry is the spec as JSON, which the file takes along for Open. Nil: nothing.
	Carry []byte
}

// Result is a file, and what it lacks.
type Result struct {
	Data []byte
	// Downgrades says what of the spec the format could not show, a line each.
	Downgrades []string
}

// Render makes a file of a DocumentSpec, SheetSpec or PresentationSpec. Workbooks are
// made of a SheetSpec alone, decks of a PresentationSpec or a DocumentSpec; everything
// can be read as md, html, docx and pdf. It returns document/format for other pairs,
// and document/invalid for a formula or picture that is none.
func Render(spec proto.Message, format string, o Options) (*Result, error) {
	if !slices.Contains(Formats, format) {
		return nil, fault.New("document/format", "there is no such format").Got(format).Want("%s", suggest.Among(format, Formats))
	}
	w := &work{Options: o}
	switch format {
	case "xlsx":
		s, ok := spec.(*loomv1.SheetSpec)
		if !ok {
			return nil, fault.New("document/format", "a workbook is made of a spec with sheets").Got(format).Want("give a sheet spec, or make a docx, pdf, md or html")
		}
		return w.xlsx(s)
	case "pptx":
		s, ok := spec.(*loomv1.PresentationSpec)
		if d, isDocument := spec.(*loomv1.DocumentSpec); isDocument {
			if s, ok = w.deckOf(d), true; len(d.Footnotes) > 0 {
				w.lacks("pptx has footnotes with what the speaker says")
			}
		}
		if !ok {
			return nil, fault.New("document/format", "a deck is made of a spec with slides, or of a text").Got(format)
		}
		return w.pptx(s)
	}
	f, err := w.flow(spec)
	if err != nil {
		return nil, err
	}
	switch format {
	case "docx":
		return w.docx(f)
	case "pdf":
		return w.pdf(f)
	case "html":
		return w.html(f)
	}
	return w.markdown(f)
}

// work is one file in the making.
type work struct {
	Options
	downgrades []string
}

// lacks notes what the format cannot show, once.
func (w *work) lacks(what string) {
	if !slices.Contains(w.downgrades, what) {
		w.downgrades = append(w.downgrades, what)
	}
}

func (w *work) result(data []byte) *Result { return &Result{Data: data, Downgrades: w.downgrades} }
