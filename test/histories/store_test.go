package histories

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// save writes messages to a file.
func save[T proto.Message](t *testing.T, path string, list []T) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		opts := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
		if _, err := opts.MarshalTo(z, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// load reads what save wrote.
func load[T proto.Message](t *testing.T, path string, empty func() T) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	for r := bufio.NewReader(z); ; {
		m := empty()
		switch err := protodelim.UnmarshalFrom(r, m); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, m)
	}
}

// contract lists the fields of a project's state and of all that is in it.
func contract() []string {
	known := map[string]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(d protoreflect.MessageDescriptor) {
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if name := string(f.FullName()); strings.HasPrefix(name, "loom.v1.") && !known[name] {
				known[name] = true
				if m := f.Message(); m != nil {
					walk(m)
				}
			}
		}
	}
	walk((*loomv1.ProjectState)(nil).ProtoReflect().Descriptor())
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// trim clears the fields of m that are not known.
func trim(m protoreflect.Message, known map[string]bool) {
	var later []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case strings.HasPrefix(string(f.FullName()), "loom.v1.") && !known[string(f.FullName())]:
			later = append(later, f)
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { trim(v.Message(), known); return true })
		case f.IsMap():
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				trim(v.List().Get(i).Message(), known)
			}
		case !f.IsList() && f.Message() != nil:
			trim(v.Message(), known)
		}
		return true
	})
	for _, f := range later {
		m.Clear(f)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func list(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths
}
