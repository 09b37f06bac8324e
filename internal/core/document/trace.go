package document

import (
	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Link is a section of a spec and the outline's section that it carries out.
type Link struct {
	Section string `json:"section"`
	Outline string `json:"outline"`
	Path    string `json:"path"`
}

// Trace returns a link for each section of a spec, and the outline's sections that
// none carries out. A section without an outline id carries out the one of its own id,
// or, where there is none, the nearest one before it: it stands within that.
func Trace(o *loomv1.PlanningOutline, spec proto.Message) (links []Link, missing []string) {
	planned, done := map[string]bool{}, map[string]bool{}
	for _, s := range o.Sections {
		planned[s.Id] = true
	}
	last := ""
	for _, p := range parts(spec) {
		of := p.outline
		switch {
		case of != "":
		case planned[p.id]:
			of = p.id
		default:
			of = last
		}
		if planned[of] {
			last = of
			done[of] = true
		}
		links = append(links, Link{Section: p.id, Outline: of, Path: p.path})
	}
	for _, s := range o.Sections {
		if !done[s.Id] {
			missing = append(missing, s.Id)
		}
	}
	return links, missing
}
