package office

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Made is a file that was made whatever stood in the way, as far as that could be.
type Made struct {
	Result
	// Format is what the file is: the one that was asked for, or md.
	Format string
	// Dropped are the features that were left out, in the order in which they are tried.
	Dropped []string
}

// Make is [Render] for those who need a file. It reads back what it made, where the
// format carries its spec. Where no file comes of it, it leaves out one feature after
// the other, in the order of [Features], each once alone and then together with those
// before it, and in the end makes Markdown. What was left out stands in the file as its
// text, and among the downgrades with the reason. It fails only where not even Markdown
// can be made.
func Make(spec proto.Message, format string, o Options) (*Made, error) {
	return makeWith(Render, spec, format, o)
}

// Features are what a file can do without, in the order in which it has to.
func Features() (names []string) {
	for _, f := range features {
		names = append(names, f.name)
	}
	return names
}

type renderer func(proto.Message, string, Options) (*Result, error)

func makeWith(render renderer, spec proto.Message, format string, o Options) (*Made, error) {
	r, first := attempt(render, spec, format, o)
	if first == nil {
		return &Made{Result: *r, Format: format}, nil
	}
	var tries [][]feature
	for _, f := range features {
		tries = append(tries, []feature{f})
	}
	for n := 2; n <= len(features); n++ {
		tries = append(tries, features[:n])
	}
	for _, drop := range tries {
		poorer, options, dropped := without(spec, o, drop)
		if len(dropped) < len(drop) {
			continue // there is nothing of it to leave out
		}
		if r, err := attempt(render, poorer, format, options); err == nil {
			return told(r, format, dropped, first), nil
		}
	}
	poorer, options, dropped := without(spec, o, features)
	for _, try := range []struct {
		spec    proto.Message
		o       Options
		dropped []string
	}{{spec, o, nil}, {poorer, options, dropped}} {
		if r, err := attempt(render, try.spec, "md", try.o); err == nil && format != "md" {
			m := told(r, "md", try.dropped, first)
			m.Downgrades = append([]string{fmt.Sprintf("no %s could be made, so it is Markdown: %s", format, reason(first))}, m.Downgrades...)
			return m, nil
		}
	}
	return nil, first
}

// attempt makes a file and reads it back.
func attempt(render renderer, spec proto.Message, format string, o Options) (*Result, error) {
	r, err := render(spec, format, o)
	if err != nil || len(o.Carry) == 0 || !slices.Contains([]string{"docx", "html", "pptx", "xlsx"}, format) {
		return r, err
	}
	back, err := Open(r.Data)
	if err != nil {
		return nil, fault.New("document/foreign", "the %s that was made cannot be read back", format).Because(err)
	}
	if !bytes.Equal(back, o.Carry) {
		return nil, fault.New("document/foreign", "the %s that was made gives another spec back", format)
	}
	return r, nil
}

// told is a file with what was left out of it, and why.
func told(r *Result, format string, dropped []string, why error) *Made {
	m := &Made{Result: *r, Format: format, Dropped: dropped}
	m.Downgrades = slices.DeleteFunc(slices.Clone(r.Downgrades), func(s string) bool { return strings.Contains(s, leftOut) })
	for _, name := range dropped {
		m.Downgrades = append(m.Downgrades, fmt.Sprintf("%s left out: %s", name, reason(why)))
	}
	return m
}

// reason is the first line of an error.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// feature is something that a file can do without.
type feature struct {
	name string
	// drop takes it out of a spec, and says whether there was any.
	drop func(proto.Message, *Options) bool
}

var features = []feature{
	{"charts", dropCharts},
	{"pictures", dropPictures},
	{"callouts", dropCallouts},
	{"styles", dropStyles},
	{"merged cells and formats of tables", dropMerges},
}

// without is a spec without features, those that it had.
func without(spec proto.Message, o Options, drop []feature) (proto.Message, Options, []string) {
	spec = proto.Clone(spec)
	image := o.Image
	o.Image = func(name string) ([]byte, error) {
		if name == leftOut || image == nil {
			return nil, fault.New("document/invalid", "left out")
		}
		return image(name)
	}
	var names []string
	for _, f := range drop {
		if f.drop(spec, &o) {
			names = append(names, f.name)
		}
	}
	return spec, o, names
}

// leftOut is the picture of a figure that is shown by its text alone.
const leftOut = "left-out"

func dropCharts(spec proto.Message, _ *Options) (any bool) {
	for _, f := range figures(spec) {
		if f.Chart != nil {
			f.Chart, f.Image, any = nil, leftOut, true
		}
	}
	return any
}

func dropPictures(spec proto.Message, _ *Options) (any bool) {
	for _, f := range figures(spec) {
		if f.Image != "" && f.Image != leftOut {
			f.Image, any = leftOut, true
		}
	}
	return any
}

func figures(spec proto.Message) []*loomv1.Figure {
	s, _ := spec.(interface{ GetFigures() []*loomv1.Figure })
	if s == nil {
		return nil
	}
	return s.GetFigures()
}

// dropCallouts has callouts as paragraphs.
func dropCallouts(spec proto.Message, _ *Options) (any bool) {
	plain := func(body *string, list *[]*loomv1.Callout) {
		for _, c := range *list {
			*body, any = strings.TrimSpace(*body+"\n\n**"+c.Kind+":** "+c.Text), true
		}
		*list = nil
	}
	switch s := spec.(type) {
	case *loomv1.DocumentSpec:
		for _, x := range s.Sections {
			plain(&x.Body, &x.Callouts)
		}
	case *loomv1.SheetSpec:
		for _, x := range s.Sheets {
			plain(&x.Body, &x.Callouts)
		}
	case *loomv1.PresentationSpec:
		for _, x := range s.Slides {
			plain(&x.Body, &x.Callouts)
		}
	}
	return any
}

func dropStyles(spec proto.Message, o *Options) bool {
	had := o.Style != nil
	o.Style = nil
	switch s := spec.(type) {
	case *loomv1.DocumentSpec:
		had, s.Styles = had || s.Styles != nil, nil
	case *loomv1.SheetSpec:
		had, s.Styles = had || s.Styles != nil, nil
	case *loomv1.PresentationSpec:
		had, s.Styles = had || s.Styles != nil, nil
	}
	return had
}

func dropMerges(spec proto.Message, _ *Options) (any bool) {
	plain := func(t *loomv1.SpecTable) {
		if t != nil && len(t.Merges)+len(t.Formats) > 0 {
			t.Merges, t.Formats, any = nil, nil, true
		}
	}
	switch s := spec.(type) {
	case *loomv1.DocumentSpec:
		for _, x := range s.Sections {
			plain(x.Table)
		}
	case *loomv1.SheetSpec:
		for _, x := range s.Sheets {
			plain(x.Table)
		}
	case *loomv1.PresentationSpec:
		for _, x := range s.Slides {
			plain(x.Table)
		}
	}
	return any
}
