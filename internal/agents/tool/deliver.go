package tool

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/sheet"
)

// deliver writes a file that a tool made, whole, in one step. What a call
// makes is given by its arguments and the files it reads, so making it again
// gives the same file.
func (j job) deliver(path string, data []byte) (Result, error) {
	p, err := j.target(path, "", true)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	old, _, err := p.content(sheet.MaxBytes)
	switch {
	case err == nil && bytes.Equal(old, data):
		return done("the file had this content already\n", "%s: unchanged", p.path), nil
	case err != nil && fault.Code(err) != "tool/not-found" && fault.Code(err) != "tool/too-large":
		return Result{}, err
	}
	if err := p.replace(data, j.id); err != nil {
		return Result{}, err
	}
	return wrote(p.path, fault.Code(err) != "tool/not-found", len(data)), nil
}

// extension is the kind of a file, by the end of its name.
func extension(name string) string { return strings.ToLower(path.Ext(name)) }

// extensionOf refuses a path whose extension is not one of known.
func extensionOf(where, name string, known ...string) (string, error) {
	ext := extension(name)
	for _, k := range known {
		if ext == k {
			return ext, nil
		}
	}
	return "", unfit(where, "the file's name does not end in %s", strings.Join(known, " or ")).Got(name)
}

// tableFile is a table that a call names.
type tableFile struct {
	Path  string `json:"path"`
	Sheet string `json:"sheet"`
}

// tableSchema is the schema of a tableFile.
const tableSchema = `{"type": "object", "additionalProperties": false, "required": ["path"],
	"properties": {"path": {"type": "string", "minLength": 1, "description": "a .csv, .tsv or .xlsx file"}, "sheet": {"type": "string"}}}`

// table reads a table of the workspace; note says what a reader of it should
// know.
func (s *Set) table(f tableFile) (t sheet.Table, note string, err error) {
	ext, err := extensionOf("path", f.Path, ".csv", ".tsv", ".xlsx")
	if err != nil {
		return t, "", err
	}
	data, err := s.bytes(f.Path)
	if err != nil {
		return t, "", err
	}
	if ext != ".xlsx" {
		if f.Sheet != "" {
			return t, "", unfit("sheet", "only an .xlsx file has sheets")
		}
		t, err = sheet.ReadCSV(data)
		return t, "", at(f.Path, err)
	}
	b, err := sheet.OpenBook(data)
	if err != nil {
		return t, "", at(f.Path, err)
	}
	defer b.Close()
	t, unsaved, err := b.Table(f.Sheet)
	if unsaved > 0 {
		note = fmt.Sprintf("[%d formulas have no saved value and are empty here; save the file once in an office program]\n", unsaved)
	}
	return t, note, at(f.Path, err)
}

// bytes reads a whole file of the workspace.
func (s *Set) bytes(name string) ([]byte, error) {
	p, err := s.locate(name, how{links: true})
	if err != nil {
		return nil, err
	}
	defer p.close()
	data, _, err := p.content(sheet.MaxBytes)
	return data, err
}

// at gives a refusal the file that it is about.
func at(file string, err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if e.Where = strings.Trim(file+": "+e.Where, ": "); e.Code == "internal/error" {
		e.Code = "tool/failed"
	}
	return e
}

// filing are the tools that write files of the workspace.
var filing = []string{
	"file_write", "file_edit", "file_remove", "apply_patch", "spreadsheet", "document_write", "chart_data", "comparison_matrix", "template_fill",
}

// ChangesFiles reports whether a tool can change files of the workspace, other
// than by running commands in it.
func ChangesFiles(name string) bool { return slices.Contains(filing, name) }
