package document

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// part is a section, a sheet or a slide, in the one shape in which validators see it.
type part struct {
	id, outline string
	path        string
	heading     string
	headingPath string
	level       int    // where it jumps, the one that mends it
	jumps       int    // the level that it has then, 0 for none
	texts       []text // what is to be read: body, lists, callouts
	body        string
	table       *loomv1.SpecTable
	full        bool // something stands below the heading
	slide       bool // short by nature
}

// text is something that people read, and where it is.
type text struct{ path, text string }

// parts are the sections of a spec, in order.
func parts(m proto.Message) (list []part) {
	switch m := m.(type) {
	case *loomv1.DocumentSpec:
		for i, s := range m.Sections {
			at := fmt.Sprintf("sections[%d]", i)
			p := part{id: s.Id, outline: s.OutlineId, path: at, heading: s.Heading, headingPath: at + ".heading", level: int(max(s.Level, 1)), body: s.Body, table: s.Table}
			p.prose(at+".body", s.Body)
			p.items(at+".bullets", s.Bullets)
			p.items(at+".steps", s.Steps)
			p.callouts(at+".callouts", s.Callouts)
			list = append(list, p.done())
		}
	case *loomv1.SheetSpec:
		for i, s := range m.Sheets {
			at := fmt.Sprintf("sheets[%d]", i)
			p := part{id: s.Id, outline: s.OutlineId, path: at, heading: s.Name, headingPath: at + ".name", level: 1, body: s.Body, table: s.Table}
			p.prose(at+".body", s.Body)
			p.callouts(at+".callouts", s.Callouts)
			list = append(list, p.done())
		}
	case *loomv1.PresentationSpec:
		for i, s := range m.Slides {
			at := fmt.Sprintf("slides[%d]", i)
			p := part{id: s.Id, outline: s.OutlineId, path: at, heading: s.Heading, headingPath: at + ".heading", level: 1, body: s.Body, table: s.Table, slide: true}
			p.prose(at+".body", s.Body)
			p.items(at+".bullets", s.Bullets)
			p.items(at+".right", s.Right)
			p.callouts(at+".callouts", s.Callouts)
			p.full = s.Layout == "section" // its heading is all that it has
			list = append(list, p.done())
		}
	}
	return list
}

func (p *part) prose(path, s string) {
	if strings.TrimSpace(s) != "" {
		p.texts = append(p.texts, text{path, s})
	}
}

func (p *part) items(path string, items []string) {
	for i, s := range items {
		p.prose(fmt.Sprintf("%s[%d]", path, i), s)
	}
}

func (p *part) callouts(path string, list []*loomv1.Callout) {
	for i, c := range list {
		p.prose(fmt.Sprintf("%s[%d].text", path, i), c.Text)
	}
}

func (p part) done() part {
	p.full = p.full || len(p.texts) > 0 || p.table != nil
	return p
}

// figuresOf, metadataOf and stylesOf are what all specs have.
func figuresOf(m proto.Message) []*loomv1.Figure {
	s, _ := m.(interface{ GetFigures() []*loomv1.Figure })
	if s == nil {
		return nil
	}
	return s.GetFigures()
}

func metadataOf(m proto.Message) *loomv1.SpecMetadata {
	s, _ := m.(interface{ GetMetadata() *loomv1.SpecMetadata })
	if s == nil {
		return nil
	}
	return s.GetMetadata()
}

func stylesOf(m proto.Message) *loomv1.DocumentStyles {
	s, _ := m.(interface{ GetStyles() *loomv1.DocumentStyles })
	if s == nil {
		return nil
	}
	return s.GetStyles()
}

// VersionOf is a spec's version.
func VersionOf(m proto.Message) string {
	s, _ := m.(interface{ GetVersion() string })
	if s == nil {
		return ""
	}
	return s.GetVersion()
}
