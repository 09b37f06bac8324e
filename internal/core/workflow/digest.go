package workflow

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// DigestForm is hashed before the fields, so that a digest of another form is
// never taken for one of this.
const DigestForm = "loom.v1.approval/2"

// undigested are the fields of an approval that no digest covers: the digest
// itself, what the project sets when it is asked and answered, and what is added
// where it is shown. Every other field is covered, also one that is new.
var undigested = map[protoreflect.Name]bool{
	"digest": true, "asked_at": true, "decision": true, "comment": true, "decided_by": true, "decided_at": true, "overlaps": true, "signed": true,
}

// Undigested lists the fields of an approval that no digest covers.
func Undigested() []string {
	names := make([]string, 0, len(undigested))
	for name := range undigested {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// Digest returns what an answer to an approval must name: the SHA-256, in
// lower-case hex, of [DigestForm], a line end, and all that is shown: the fields
// that are set, by their numbers, each as its number, the length of its value and
// the value. Numbers and lengths are 8 bytes, big endian. A value is a string's or
// bytes' own bytes, 8 bytes for a number, a truth value or an enum (of a floating
// point number its IEEE 754 bits), and for a message its fields in this same way.
// A list is its elements one after the other; a map is its entries by their keys,
// each a message of key (1) and value (2).
func Digest(a *loomv1.Approval) string {
	shown := encodeFields(a.ProtoReflect(), func(f protoreflect.FieldDescriptor) bool { return undigested[f.Name()] })
	sum := sha256.Sum256(append([]byte(DigestForm+"\n"), shown...))
	return hex.EncodeToString(sum[:])
}

// CheckShown returns approval/shown unless what somebody was shown, an approval and
// the text of its diff, is what the approval's digest covers. Whoever signs asks
// this before, so that nothing between the journal and the reader's eyes can put
// another text under the signature.
func CheckShown(a *loomv1.Approval, diff string) error {
	if Digest(a) != a.GetDigest() {
		return fault.New("approval/shown", "what is shown of approval %q is not what its digest %.12s covers", a.GetId(), a.GetDigest()).
			Want("do not sign it; compare it with \"loom audit\" on the host")
	}
	ref := a.GetChange().GetDiff()
	if ref == nil && diff == "" {
		return nil
	}
	if sum := sha256.Sum256([]byte(diff)); hex.EncodeToString(sum[:]) != ref.GetSha256() {
		return fault.New("approval/shown", "the diff that is shown with approval %q is not the one that its digest covers", a.GetId()).
			Want("do not sign it; compare it with \"git show %s\" in the repository", a.GetChange().GetCommit())
	}
	return nil
}

// encodeFields is the fields of a message that are set, but for those that are left
// out, as [Digest] says.
func encodeFields(m protoreflect.Message, without func(protoreflect.FieldDescriptor) bool) []byte {
	var set []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if without == nil || !without(f) {
			set = append(set, f)
		}
		return true
	})
	slices.SortFunc(set, func(x, y protoreflect.FieldDescriptor) int { return cmp.Compare(x.Number(), y.Number()) })
	var out []byte
	for _, f := range set {
		v := m.Get(f)
		switch {
		case f.IsList():
			for i := range v.List().Len() {
				out = appendField(out, uint64(f.Number()), encodeValue(f, v.List().Get(i)))
			}
		case f.IsMap():
			for _, entry := range encodeEntries(f, v.Map()) {
				out = appendField(out, uint64(f.Number()), entry)
			}
		default:
			out = appendField(out, uint64(f.Number()), encodeValue(f, v))
		}
	}
	return out
}

// encodeEntries is the entries of a map in the order of their encoded keys.
func encodeEntries(f protoreflect.FieldDescriptor, m protoreflect.Map) [][]byte {
	entries := map[string][]byte{}
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		key := appendField(nil, 1, encodeValue(f.MapKey(), k.Value()))
		entries[string(encodeValue(f.MapKey(), k.Value()))] = appendField(key, 2, encodeValue(f.MapValue(), v))
		return true
	})
	list := make([][]byte, 0, len(entries))
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, entries[k])
	}
	return list
}

func encodeValue(f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch x := v.Interface().(type) {
	case string:
		return []byte(x)
	case []byte:
		return bytes.Clone(x)
	case protoreflect.Message:
		return encodeFields(x, nil)
	case protoreflect.EnumNumber:
		return number(uint64(x))
	case bool:
		if x {
			return number(1)
		}
		return number(0)
	case int32:
		return number(uint64(int64(x)))
	case int64:
		return number(uint64(x))
	case uint32:
		return number(uint64(x))
	case uint64:
		return number(x)
	case float32:
		return number(math.Float64bits(float64(x)))
	case float64:
		return number(math.Float64bits(x))
	}
	panic(fmt.Sprintf("field %s has a value of type %T, which protobuf does not have", f.FullName(), v.Interface()))
}

func appendField(out []byte, field uint64, value []byte) []byte {
	out = append(out, number(field)...)
	out = append(out, number(uint64(len(value)))...)
	return append(out, value...)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
