package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
)

// Read reads an artifact of a kind, "" for the one that its keys show. The file's
// name is only used in places.
//
// It returns document/json for what is no JSON, with the line; document/limit for
// what is too large; else document/invalid for all that is wrong, each with the path
// of the value: FILE: sections[1].table.rows[0]. What one value says of another (rows
// under headers) is checked once each is right by itself.
func Read(file string, data []byte, kind string) (proto.Message, error) {
	tree, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	return readTree(file, tree, kind)
}

func readTree(file string, tree any, kind string) (_ proto.Message, err error) {
	k := guess(tree)
	if kind != "" {
		if k, err = KindNamed(kind); err != nil {
			return nil, err
		}
	}
	m, problems := build(k, tree)
	for _, p := range problems {
		p.Where = place(file, p.Where)
	}
	return m, fault.Join(problems)
}

func place(file, path string) string {
	switch {
	case file == "":
		return path
	case path == "":
		return file
	}
	return file + ": " + path
}

// build makes a message of a tree of JSON, or says what is wrong with it.
func build(k Kind, tree any) (proto.Message, []*fault.Error) {
	m := k.zero.ProtoReflect().New().Interface()
	c := &checker{}
	c.message(m.ProtoReflect().Descriptor(), tree, "")
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	data, err := json.Marshal(tree)
	if err == nil {
		err = protojson.Unmarshal(data, m)
	}
	if err != nil {
		return nil, []*fault.Error{fault.New("document/invalid", "it is not what the contract says: %s", err)}
	}
	if c.relations(m); len(c.problems) > 0 {
		return nil, c.problems
	}
	return m, nil
}

// parse reads JSON: one value, no key twice in an object, not too deep.
func parse(file string, data []byte) (any, error) {
	if len(data) > MaxBytes {
		return nil, fault.New("document/limit", "it has %d bytes; at most %d are read", len(data), MaxBytes).At(file)
	}
	if !utf8.Valid(data) {
		return nil, fault.New("document/json", "it is not UTF-8").At(file)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	p := &reader{d: d}
	tree, err := p.value(0, "")
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = fault.New("document/json", "there is more after the first value")
		}
	}
	if err == nil {
		return tree, nil
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		reason := err.Error()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			reason = "it ends in the middle of a value"
		}
		e = fault.New("document/json", "it is not JSON: %s", reason)
	}
	offset := min(int(d.InputOffset()), len(data))
	line := 1 + bytes.Count(data[:offset], []byte("\n"))
	column := offset - bytes.LastIndexByte(data[:offset], '\n')
	return nil, e.At(fmt.Sprintf("%s:%d:%d", file, line, column))
}

type reader struct{ d *json.Decoder }

func (r *reader) value(depth int, path string) (any, error) {
	if depth > MaxDepth {
		return nil, fault.New("document/limit", "it is nested deeper than %d levels", MaxDepth)
	}
	t, err := r.d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, fault.New("document/json", "%s is a number that cannot be kept", shown(path)).Got(t.String())
		}
		return f, nil
	case json.Delim:
		if t == '[' {
			return r.list(depth, path)
		}
		return r.object(depth, path)
	}
	return t, nil
}

func (r *reader) list(depth int, path string) (any, error) {
	list := []any{}
	for r.d.More() {
		v, err := r.value(depth+1, fmt.Sprintf("%s[%d]", path, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.d.Token()
	return list, err
}

func (r *reader) object(depth int, path string) (any, error) {
	object := map[string]any{}
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		at := join(path, key)
		if _, twice := object[key]; twice {
			return nil, fault.New("document/json", "%s is there twice", shown(at))
		}
		if object[key], err = r.value(depth+1, at); err != nil {
			return nil, err
		}
	}
	_, err := r.d.Token()
	return object, err
}

func shown(path string) string {
	if path == "" {
		return "the document"
	}
	return strings.Trim(fault.Echo(path), `"`)
}

// treeOf is a message as JSON's values.
func treeOf(m proto.Message) any {
	data, err := protojson.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("document: a message without JSON: %v", err))
	}
	tree, err := parse("", data)
	if err != nil {
		panic(fmt.Sprintf("document: JSON that cannot be read back: %v", err))
	}
	return tree
}

// Canonical is the artifact as JSON in one spelling: keys sorted, no blanks, numbers
// as short as they can be. Equal artifacts have equal bytes; what is empty is left
// out, so that an empty list and none are the same.
func Canonical(m proto.Message) []byte {
	data, err := encode(treeOf(m))
	if err != nil {
		panic(fmt.Sprintf("document: %v", err))
	}
	return data
}

func encode(tree any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(tree)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Hash is "sha256:" and the digest of the canonical bytes.
func Hash(m proto.Message) string { return HashBytes(Canonical(m)) }

// HashBytes is "sha256:" and the digest of bytes.
func HashBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// JSON writes an artifact for people: the fields in the contract's order, two blanks
// a level. The same artifact gives the same bytes.
func JSON(m proto.Message) []byte {
	data, err := protojson.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("document: a message without JSON: %v", err))
	}
	var flat, out bytes.Buffer
	if err := json.Compact(&flat, data); err != nil { // protojson varies its blanks on purpose
		panic(fmt.Sprintf("document: %v", err))
	}
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		panic(fmt.Sprintf("document: %v", err))
	}
	return append(out.Bytes(), '\n')
}

func sectionID(i int) string { return "sec-" + strconv.Itoa(i+1) }
