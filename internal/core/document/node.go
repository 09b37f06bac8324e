package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Node is a piece of a spec that has a meaning of its own: what is searched, counted
// and compared.
type Node struct {
	// ID is stable: it does not change when other pieces do. What has a name goes by it
	// (sec-1/heading, sec-1/table, clause/confidentiality), the rest by its content
	// (sec-1/paragraph-1f3a9c02).
	ID string `json:"id"`
	// Kind is title, heading, paragraph, list, item, table, row, callout, figure,
	// clause, source, footnote or formula.
	Kind string `json:"kind"`
	// Path leads to it in the spec.
	Path string `json:"path"`
	// Text is what it says.
	Text string `json:"text"`
}

// structural are the kinds of nodes that make a document's structure; the others are
// its content.
var structural = []string{"heading", "list", "table", "callout", "figure", "clause"}

// Nodes are the nodes of a spec, in reading order. Artifacts that are no specs have none.
func Nodes(m proto.Message) []Node {
	w := &walker{seen: map[string]int{}}
	switch m := m.(type) {
	case *loomv1.DocumentSpec:
		w.named("title", "title", "title", titles(m.Title, m.Subtitle))
		for i, s := range m.Sections {
			at := fmt.Sprintf("sections[%d]", i)
			w.named(s.Id+"/heading", "heading", at+".heading", fmt.Sprintf("%d %s", max(s.Level, 1), s.Heading))
			w.body(s.Id, at+".body", s.Body)
			w.list(s.Id+"/bullets", at+".bullets", s.Bullets)
			w.list(s.Id+"/steps", at+".steps", s.Steps)
			w.table(s.Id+"/table", at+".table", s.Table)
			w.callouts(s.Id, at+".callouts", s.Callouts)
		}
		for i, c := range m.Clauses {
			w.named("clause/"+c.Name, "clause", fmt.Sprintf("clauses[%d]", i), c.Text)
		}
		w.figures(m.Figures)
		for i, s := range m.Sources {
			w.named("source/"+s.Id, "source", fmt.Sprintf("sources[%d]", i), titles(s.Title, s.Url))
		}
		for i, n := range m.Footnotes {
			w.named("footnote/"+n.Id, "footnote", fmt.Sprintf("footnotes[%d]", i), n.Text)
		}
	case *loomv1.SheetSpec:
		w.named("title", "title", "title", titles(m.Title, m.Subtitle))
		for i, s := range m.Sheets {
			at := fmt.Sprintf("sheets[%d]", i)
			w.named(s.Id+"/heading", "heading", at+".name", s.Name)
			w.body(s.Id, at+".body", s.Body)
			w.table(s.Id+"/table", at+".table", s.Table)
			for j, c := range s.Computed {
				w.named(s.Id+"/formula/"+c.Header, "formula", fmt.Sprintf("%s.computed[%d]", at, j), c.Header+" = "+c.Formula)
			}
			w.callouts(s.Id, at+".callouts", s.Callouts)
		}
		w.figures(m.Figures)
	case *loomv1.PresentationSpec:
		w.named("title", "title", "title", titles(m.Title, m.Subtitle))
		for i, s := range m.Slides {
			at := fmt.Sprintf("slides[%d]", i)
			w.named(s.Id+"/heading", "heading", at+".heading", s.Heading)
			w.body(s.Id, at+".body", s.Body)
			w.list(s.Id+"/bullets", at+".bullets", s.Bullets)
			w.list(s.Id+"/right", at+".right", s.Right)
			w.table(s.Id+"/table", at+".table", s.Table)
			w.callouts(s.Id, at+".callouts", s.Callouts)
			w.body(s.Id+"/notes", at+".notes", s.Notes)
		}
		w.figures(m.Figures)
	}
	return w.nodes
}

func titles(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

type walker struct {
	nodes []Node
	seen  map[string]int
}

func (w *walker) named(id, kind, path, text string) {
	w.nodes = append(w.nodes, Node{ID: id, Kind: kind, Path: path, Text: text})
}

// unnamed adds a node that goes by its content; of equal ones the second is -2.
func (w *walker) unnamed(parent, kind, path, text string) {
	sum := sha256.Sum256([]byte(text))
	id := parent + "/" + kind + "-" + hex.EncodeToString(sum[:4])
	if w.seen[id]++; w.seen[id] > 1 {
		id = fmt.Sprintf("%s-%d", id, w.seen[id])
	}
	w.named(id, kind, path, text)
}

func (w *walker) body(parent, path, body string) {
	for _, p := range paragraphs(body) {
		w.unnamed(parent, "paragraph", path, p)
	}
}

func (w *walker) list(id, path string, items []string) {
	if len(items) == 0 {
		return
	}
	w.named(id, "list", path, "")
	for i, item := range items {
		w.unnamed(id, "item", fmt.Sprintf("%s[%d]", path, i), item)
	}
}

func (w *walker) table(id, path string, t *loomv1.SpecTable) {
	if t == nil {
		return
	}
	frame := proto.CloneOf(t)
	frame.Rows = nil
	w.named(id, "table", path, string(Canonical(frame)))
	for i, row := range t.Rows {
		var cells []string
		for _, v := range row.Values {
			cells = append(cells, CellText(v))
		}
		w.unnamed(id, "row", fmt.Sprintf("%s.rows[%d]", path, i), strings.Join(cells, "\t"))
	}
}

func (w *walker) callouts(parent, path string, list []*loomv1.Callout) {
	for i, c := range list {
		w.unnamed(parent, "callout", fmt.Sprintf("%s[%d]", path, i), c.Kind+": "+c.Text)
	}
}

func (w *walker) figures(list []*loomv1.Figure) {
	for i, f := range list {
		w.named("figure/"+f.Id, "figure", fmt.Sprintf("figures[%d]", i), string(Canonical(f)))
	}
}

// Search returns the nodes that have all words of the query, capitals aside, those
// that have them most often first, at most limit.
func Search(nodes []Node, query string, limit int) (found []Node) {
	wanted := strings.Fields(strings.ToLower(query))
	score := map[string]int{}
	for _, n := range nodes {
		text, total := strings.ToLower(n.Text), 0
		for _, w := range wanted {
			count := strings.Count(text, w)
			if count == 0 {
				total = 0
				break
			}
			total += count
		}
		if total > 0 {
			score[n.ID] = total
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b Node) int { return score[b.ID] - score[a.ID] })
	return found[:min(len(found), limit)]
}
