package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Edit is a granular change of a spec that has a name: what it takes is said by a JSON
// Schema, and what it does are patches.
type Edit struct {
	// Name is that of the tool that it is to an agent.
	Name string
	// About says what it does, and when it is refused.
	About string
	// Schema is what its arguments are held against.
	Schema json.RawMessage
	derive func(edited) ([]*loomv1.Patch, error)
}

const (
	sectionSchema = `"section":{"type":"string","description":"the id of the section, sheet or slide"}`
	partSchema    = `"part":{"type":"string","description":"a path within the section: bullets[1], table, table.headers[2], callouts[0]"}`
	placeSchema   = `"before":{"type":"string","description":"the id of the section before which it stands then"},"after":{"type":"string","description":"or of the one after which"}`
)

func editSchema(required, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`)
}

// Edits are all granular changes.
func Edits() []Edit {
	return []Edit{
		{
			Name: "insert_section", derive: edited.insertSection,
			About:  "Put a new section (sheet, slide) into the spec, before or after another one, or at the end. Refused if its id is taken.",
			Schema: editSchema(`"content"`, `"content":{"type":"object","description":"the section, as the schema of the spec has it, with its id and outlineId"},`+placeSchema),
		},
		{
			Name: "replace_paragraph", derive: edited.replaceParagraph,
			About:  "Write one paragraph of a section's body anew. Refused if the body has no such paragraph.",
			Schema: editSchema(`"section","paragraph","text"`, sectionSchema+`,"paragraph":{"type":"integer","minimum":1,"description":"its number, from 1"},"text":{"type":"string","minLength":1}`),
		},
		{
			Name: "replace_cell", derive: edited.replaceCell,
			About: "Give one cell of a section's table another value: of a row by its number, or of the totals. A total is not computed anew. Refused if there is no such row or column.",
			Schema: editSchema(`"section","column","value"`, sectionSchema+`,"row":{"type":"integer","minimum":1,"description":"the row's number, from 1; left out for the row of totals"},`+
				`"column":{"type":"string","description":"the column's header"},"value":{"type":["string","number","boolean","null"]}`),
		},
		{
			Name: "move", derive: edited.move,
			About:  "Move a section before or after another one, or with part and to an element of a section within its list. A header takes its column along.",
			Schema: editSchema(`"section"`, sectionSchema+","+partSchema+","+placeSchema+`,"to":{"type":"integer","minimum":0,"description":"the new index of the part in its list, from 0"}`),
		},
		{
			Name: "remove", derive: edited.remove,
			About:  "Take a section out of the spec, or with part a part of one. A header takes its column along.",
			Schema: editSchema(`"section"`, sectionSchema+","+partSchema),
		},
	}
}

// EditNamed is the granular change of a name; ok says whether there is one.
func EditNamed(name string) (e Edit, ok bool) {
	for _, e := range Edits() {
		if e.Name == name {
			return e, true
		}
	}
	return Edit{}, false
}

// Patches are what the change is to a spec. Arguments that do not fit are usage/argument; a
// section, paragraph, row, column or part that is not there is document/target with its path.
func (e Edit) Patches(spec proto.Message, arguments []byte) ([]*loomv1.Patch, error) {
	x := edited{spec: spec, tree: treeOf(spec)}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&x.args); err != nil {
		return nil, fault.New("usage/argument", "they are no arguments of %s", e.Name).Because(err)
	}
	for _, p := range parts(spec) {
		x.ids = append(x.ids, p.id)
		x.list, _, _ = strings.Cut(p.path, "[")
	}
	patches, err := e.derive(x)
	for i, p := range patches {
		p.Id, p.By, p.Reason = fmt.Sprintf("%s-%d", e.Name, i+1), "model", e.Name
	}
	return patches, err
}

// ApplyWhole is [ApplyAfter] of patches that belong together: where one is refused, none is
// carried out, and the error is the refusal.
func ApplyWhole(m proto.Message, patches, persons []*loomv1.Patch) (proto.Message, *loomv1.PatchReport, error) {
	changed, report := ApplyAfter(m, patches, persons)
	for _, r := range report.Results {
		if !r.Applied {
			return m, report, fault.New(r.Code, "%s", r.Message)
		}
	}
	return changed, report, nil
}

// edited is a spec and what one granular change was told.
type edited struct {
	spec proto.Message
	tree any
	ids  []string
	list string // the key of the sections
	args struct {
		Section   string          `json:"section"`
		Part      string          `json:"part"`
		Before    string          `json:"before"`
		After     string          `json:"after"`
		To        *int            `json:"to"`
		Paragraph int             `json:"paragraph"`
		Text      string          `json:"text"`
		Row       int             `json:"row"`
		Column    string          `json:"column"`
		Value     any             `json:"value"`
		Content   json.RawMessage `json:"content"`
	}
}

func (x edited) noTarget(path, format string, args ...any) *fault.Error {
	return fault.New("document/target", format, args...).At(path)
}

// index is where the section of an id stands.
func (x edited) index(argument, id string) (int, error) {
	i := slices.Index(x.ids, id)
	if i < 0 {
		return 0, x.noTarget(argument, "the spec has no section of this id").Got(id).Want("%s", suggest.Among(id, x.ids))
	}
	return i, nil
}

// section is the path of the section that is named.
func (x edited) section() (string, error) {
	i, err := x.index("section", x.args.Section)
	return fmt.Sprintf("%s[%d]", x.list, i), err
}

// place is the index that before and after mean for what stands at an index now; for what
// comes anew that is behind the last.
func (x edited) place(from int) (int, error) {
	switch {
	case x.args.Before != "" && x.args.After != "":
		return 0, fault.New("usage/argument", "it cannot stand before one and after another").At("before")
	case x.args.Before == "" && x.args.After == "":
		return len(x.ids), nil
	}
	argument, id, add := "before", x.args.Before, 0
	if x.args.After != "" {
		argument, id, add = "after", x.args.After, 1
	}
	to, err := x.index(argument, id)
	if to += add; to > from {
		to--
	}
	return to, err
}

func patchTo(target, action string, value any) *loomv1.Patch {
	p := &loomv1.Patch{Target: target, Action: action}
	if value != nil || action == "replace" {
		p.Value, _ = structpb.NewValue(value) // of the types that JSON has
	}
	return p
}

func (x edited) insertSection() ([]*loomv1.Patch, error) {
	var content map[string]any
	if err := json.Unmarshal(x.args.Content, &content); err != nil {
		return nil, fault.New("usage/argument", "it is no section").At("content").Because(err)
	}
	to, err := x.place(len(x.ids))
	if err != nil {
		return nil, err
	}
	list := []*loomv1.Patch{patchTo(x.list, "append", content)}
	if to < len(x.ids) {
		list = append(list, patchTo(fmt.Sprintf("%s[%d]", x.list, len(x.ids)), "move", float64(to)))
	}
	return list, nil
}

func (x edited) replaceParagraph() ([]*loomv1.Patch, error) {
	at, err := x.section()
	if err != nil {
		return nil, err
	}
	path, err := ParsePath(at + ".body")
	if err != nil {
		return nil, err
	}
	body, _ := get(x.tree, path) //nolint:errcheck // none has no paragraphs
	text, _ := body.(string)
	list := paragraphs(text)
	if n := x.args.Paragraph; n < 1 || n > len(list) {
		return nil, x.noTarget(at+".body", "there are %d paragraphs, and none of the number %d", len(list), n)
	}
	list[x.args.Paragraph-1] = strings.TrimSpace(x.args.Text)
	return []*loomv1.Patch{patchTo(at+".body", "replace", strings.Join(list, "\n\n"))}, nil
}

func (x edited) replaceCell() ([]*loomv1.Patch, error) {
	at, err := x.section()
	if err != nil {
		return nil, err
	}
	table := parts(x.spec)[slices.Index(x.ids, x.args.Section)].table
	if table == nil {
		return nil, x.noTarget(at+".table", "the section has no table")
	}
	column := slices.Index(table.Headers, x.args.Column)
	switch {
	case column < 0:
		return nil, x.noTarget(at+".table.headers", "the table has no such column").Got(x.args.Column).Want("%s", suggest.Among(x.args.Column, table.Headers))
	case x.args.Row == 0 && table.Totals[x.args.Column] == nil:
		return nil, x.noTarget(join(at+".table.totals", x.args.Column), "the column has no total: say which row")
	case x.args.Row == 0:
		return []*loomv1.Patch{patchTo(join(at+".table.totals", x.args.Column), "replace", x.args.Value)}, nil
	case x.args.Row < 1 || x.args.Row > len(table.Rows):
		return nil, x.noTarget(at+".table.rows", "there are %d rows, and none of the number %d", len(table.Rows), x.args.Row)
	}
	return []*loomv1.Patch{patchTo(fmt.Sprintf("%s.table.rows[%d][%d]", at, x.args.Row-1, column), "replace", x.args.Value)}, nil
}

func (x edited) move() ([]*loomv1.Patch, error) {
	at, err := x.section()
	if err != nil {
		return nil, err
	}
	if x.args.Part != "" {
		if x.args.To == nil || x.args.Before != "" || x.args.After != "" {
			return nil, fault.New("usage/argument", "a part is moved to an index of its list").At("to")
		}
		return []*loomv1.Patch{patchTo(at+"."+x.args.Part, "move", float64(*x.args.To))}, nil
	}
	if x.args.To != nil || x.args.Before == x.args.After {
		return nil, fault.New("usage/argument", "a section is moved before or after another one").At("before")
	}
	to, err := x.place(slices.Index(x.ids, x.args.Section))
	if err != nil {
		return nil, err
	}
	return []*loomv1.Patch{patchTo(at, "move", float64(to))}, nil
}

func (x edited) remove() ([]*loomv1.Patch, error) {
	at, err := x.section()
	if err != nil {
		return nil, err
	}
	if x.args.Part != "" {
		at += "." + x.args.Part
	}
	return []*loomv1.Patch{patchTo(at, "remove", nil)}, nil
}
