package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// update says whether to write instead of checking.
var update = flag.Bool("update", false, "write src/approval.json")

// contract is what the page knows of messages: enough to compute a digest.
type contract struct {
	Messages   map[string]map[string]field `json:"messages"`
	Enums      map[string]map[string]int32 `json:"enums"`
	Undigested []string                    `json:"undigested"`
}

type field struct {
	Number int    `json:"n"`
	Type   string `json:"t"`
	List   bool   `json:"list,omitempty"`
	Key    string `json:"key,omitempty"`
}

// wellKnown are messages that JSON writes in a way of their own.
var wellKnown = map[protoreflect.FullName]bool{
	"google.protobuf.Timestamp": true, "google.protobuf.Duration": true, "google.protobuf.Struct": true, "google.protobuf.Value": true,
}

func (c *contract) add(m protoreflect.MessageDescriptor) string {
	name := string(m.Name())
	if wellKnown[m.FullName()] || c.Messages[name] != nil {
		return name
	}
	fields := map[string]field{}
	c.Messages[name] = fields
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		one := field{Number: int(f.Number()), List: f.IsList()}
		if f.IsMap() {
			one.Key, one.Type = c.kind(f.MapKey()), c.kind(f.MapValue())
		} else {
			one.Type = c.kind(f)
		}
		fields[string(f.Name())] = one
	}
	return name
}

func (c *contract) kind(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.StringKind:
		return "string"
	case protoreflect.BytesKind:
		return "bytes"
	case protoreflect.BoolKind:
		return "bool"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "double"
	case protoreflect.MessageKind:
		return c.add(f.Message())
	case protoreflect.EnumKind:
		values := map[string]int32{}
		for i := range f.Enum().Values().Len() {
			v := f.Enum().Values().Get(i)
			values[string(v.Name())] = int32(v.Number())
		}
		c.Enums[string(f.Enum().Name())] = values
		return string(f.Enum().Name())
	}
	return "int"
}

// The page computes digests by what the messages are now: a field that is new is one that
// it would otherwise refuse.
func TestUI01_ThePageKnowsWhatADigestCovers(t *testing.T) {
	c := &contract{Messages: map[string]map[string]field{}, Enums: map[string]map[string]int32{}, Undigested: workflow.Undigested()}
	c.add((&loomv1.Approval{}).ProtoReflect().Descriptor())
	want, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("src/approval.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("src/approval.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("src/approval.json, %v, is not what the messages say: run this test with -update, and build the page again", err)
	}
}
