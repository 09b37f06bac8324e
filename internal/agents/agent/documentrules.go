package agent

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ownRules are what the submission's context names of the workspace's own in the place of
// Loom's: rules, approved clauses, styles, a template. What it does not name is nil.
type ownRules struct {
	rules   *document.RuleSet
	clauses *document.ClauseLibrary
	style   *loomv1.DocumentStyles // those of the template are under it
	// template is what the document begins with, and given are its places that the context
	// fills.
	template *document.Template
	given    map[string]string
}

// readOwnRules reads them from a directory of the workspace. The error has a fault code, and
// the place in the file where it has one.
func readOwnRules(dir, format string, context *structpb.Struct) (h ownRules, err error) {
	for _, part := range []struct {
		key   string
		parse func(name string, data []byte) error
	}{
		{"rules", func(name string, data []byte) (err error) { h.rules, err = document.ParseRules(name, data); return err }},
		{"clauses", func(name string, data []byte) (err error) {
			h.clauses, err = document.ParseClauses(name, data)
			return err
		}},
		{"style", func(name string, data []byte) (err error) { h.style, err = document.ReadStyles(name, data); return err }},
	} {
		name := context.GetFields()[part.key].GetStringValue()
		if name == "" {
			continue
		}
		data, err := readIn(dir, name)
		if err == nil && data == nil {
			err = fault.New("document/invalid", "there is no such file in the workspace").At("context." + part.key).Got(name)
		}
		if err == nil {
			err = part.parse(name, data)
		}
		if err != nil {
			return ownRules{}, err
		}
	}
	return h, h.readTemplate(dir, format, context)
}

// readTemplate reads the template that the context names, of which a file of the format can
// be made.
func (h *ownRules) readTemplate(dir, format string, context *structpb.Struct) error {
	id := context.GetFields()["template"].GetStringValue()
	if id == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t, err := document.TemplateOf(root.FS(), id)
	if err == nil {
		err = t.Becomes(format)
	}
	if err != nil {
		e := fault.From(err)
		if e.Where == "" {
			return e.At("context.template")
		}
		return e
	}
	h.template, h.given = t, map[string]string{}
	for _, p := range t.Parameters {
		if v := context.GetFields()[p.Name].GetStringValue(); v != "" && !ownParameters[p.Name] {
			h.given[p.Name] = v
		}
	}
	style := proto.CloneOf(t.Styles())
	if style != nil && h.style != nil {
		proto.Merge(style, h.style)
	}
	if style != nil {
		h.style = style
	}
	return nil
}

// ownParameters are those of the stages, which no place of a template is filled with.
var ownParameters = map[string]bool{"artifact": true, "type": true, "template": true, "rules": true, "clauses": true, "style": true}

// byRules holds a spec against the rules and, where it becomes pages, against the most of
// them that the outline allows.
func (p *paper) byRules(spec proto.Message) *loomv1.ReviewReport {
	outline := p.outline()
	r := document.Review{Rules: p.own.rules, Clauses: p.own.clauses, Outline: outline, Final: true}.Run(spec)
	if p.own.template != nil {
		r = document.WithFindings(r, p.own.template.Open(spec))
	}
	most := int(outline.GetConstraints().GetMaxPages())
	if most == 0 || p.format != "docx" && p.format != "pdf" {
		return r
	}
	pages, err := office.Pages(spec, office.Options{Style: p.own.style, Image: p.image})
	if err != nil || pages <= most { // what cannot be laid out is told when the file is made
		return r
	}
	return document.WithFindings(r, []*loomv1.ReviewFinding{{
		Rule: "outline/pages", Severity: "warn", Path: "sections",
		Message: fmt.Sprintf("it takes %d pages, and the outline allows %d: shorten it", pages, most),
	}})
}
