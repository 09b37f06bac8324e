//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The stories are JavaScript, since a browser is driven by it; this builds the program and
// runs them. Their names are in what it prints.
func TestUI01_APersonWithABrowser(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "loom")
	command(t, "go", "build", "-o", program, "../../cmd/loom").must()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, "node", "--test", "--test-reporter=spec", "page.test.mjs")
	c.Env = append(os.Environ(), "LOOM_BIN="+program, "LOOM_PROPOSALS="+proposals(t, dir), "GOCACHE="+strings.TrimSpace(string(cache)))
	c.must()
}

type running struct {
	*exec.Cmd
	t *testing.T
}

func command(t *testing.T, name string, args ...string) running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return running{c, t}
}

func (r running) must() {
	r.t.Helper()
	if err := r.Run(); err != nil {
		r.t.Fatalf("%s: %v", r.Args[0], err)
	}
}

// proposals writes approvals that are filled at random, as the interface gives them, with
// the digests that the host computes.
func proposals(t *testing.T, dir string) string {
	t.Helper()
	chance := rand.New(rand.NewPCG(1, 2))
	var all []json.RawMessage
	for range 200 {
		a := &loomv1.Approval{}
		fill(a.ProtoReflect(), chance, 5)
		a.Digest = workflow.Digest(a)
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again := &loomv1.Approval{}
		if err := protojson.Unmarshal(text, again); err != nil || !proto.Equal(a, again) {
			t.Fatalf("JSON changes an approval: %v", err)
		}
		all = append(all, text)
	}
	text, err := json.Marshal(map[string]any{"proposals": all})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "proposals.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// fill sets about half of the fields of a message.
func fill(m protoreflect.Message, chance *rand.Rand, depth int) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		set(m, "seconds", protoreflect.ValueOfInt64(chance.Int64N(4_000_000_000)))
		set(m, "nanos", protoreflect.ValueOfInt32(chance.Int32N(1_000_000_000)))
		return
	case "google.protobuf.Duration":
		set(m, "seconds", protoreflect.ValueOfInt64(chance.Int64N(100_000)))
		return
	case "google.protobuf.Value":
		one(m, chance, depth)
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if chance.IntN(2) == 0 || f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil || f.Message() != nil && depth == 0 {
			continue
		}
		field(m, f, chance, depth)
	}
}

func set(m protoreflect.Message, name string, v protoreflect.Value) {
	m.Set(m.Descriptor().Fields().ByName(protoreflect.Name(name)), v)
}

// one sets one of the kinds of a value of JSON.
func one(m protoreflect.Message, chance *rand.Rand, depth int) {
	fields := m.Descriptor().Fields()
	if depth == 0 {
		set(m, "string_value", protoreflect.ValueOfString("deep"))
		return
	}
	field(m, fields.Get(chance.IntN(fields.Len())), chance, depth)
}

func field(m protoreflect.Message, f protoreflect.FieldDescriptor, chance *rand.Rand, depth int) {
	switch {
	case f.IsMap():
		for range 1 + chance.IntN(3) {
			v := m.Mutable(f).Map().NewValue()
			if f.MapValue().Message() != nil {
				fill(v.Message(), chance, depth-1)
			} else {
				v = scalar(f.MapValue(), chance)
			}
			m.Mutable(f).Map().Set(scalar(f.MapKey(), chance).MapKey(), v)
		}
	case f.IsList():
		for range 1 + chance.IntN(2) {
			if f.Message() != nil {
				fill(m.Mutable(f).List().AppendMutable().Message(), chance, depth-1)
			} else {
				m.Mutable(f).List().Append(scalar(f, chance))
			}
		}
	case f.Message() != nil:
		fill(m.Mutable(f).Message(), chance, depth-1)
	default:
		m.Set(f, scalar(f, chance))
	}
}

func scalar(f protoreflect.FieldDescriptor, chance *rand.Rand) protoreflect.Value {
	texts := []string{"", "a", "zwölf", "\U0001f9f5 thread", "line\nline", "<b>", "\u202e"}
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[chance.IntN(len(texts))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 255, byte(chance.IntN(256))})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(chance.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(chance.IntN(f.Enum().Values().Len())).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(chance.Uint32()))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(chance.Uint32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(chance.Uint64()))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(chance.Uint64())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(chance.NormFloat64() * 1e6)
	}
	panic("no values for fields like " + f.FullName())
}
