package document

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// keeps refuses a change after which something is gone that a person's patch has put there,
// wherever it stands by now.
func keeps(persons []*loomv1.Patch, before, after proto.Message) error {
	for _, p := range persons {
		if p.Value == nil || p.Action != "replace" && p.Action != "append" {
			continue
		}
		value := p.Value.AsInterface()
		if !Holds(before, value) {
			continue // it was refused, or another person's patch has changed it since
		}
		if !Holds(after, value) || p.Action == "replace" && at(before, p.Target, value) && !at(after, p.Target, value) && !moved(before, after, p.Target) {
			return fault.New("document/patch", "a person's patch set what this would take away").At(p.Target).Want("leave it as it is")
		}
	}
	return nil
}

// at says whether a value stands at a target, a text within a text.
func at(m proto.Message, target string, value any) bool {
	path, err := ParsePath(target)
	if err != nil {
		return false
	}
	tree := treeOf(m)
	got, err := get(tree, path.resolved(tree))
	if err != nil {
		return false
	}
	if text, isText := got.(string); isText {
		part, ok := value.(string)
		return ok && strings.Contains(text, part)
	}
	is, err := json.Marshal(got)
	want, wrong := json.Marshal(value)
	return err == nil && wrong == nil && bytes.Equal(is, want)
}

// moved says whether a list above a target has another length: what stood there may stand
// elsewhere.
func moved(before, after proto.Message, target string) bool {
	path, err := ParsePath(target)
	if err != nil {
		return false
	}
	was, is := treeOf(before), treeOf(after)
	for i := range path.resolved(was) {
		above := path.resolved(was)[:i]
		a, errA := get(was, above)
		b, errB := get(is, above)
		listA, isList := a.([]any)
		listB, stillList := b.([]any)
		if errA != nil || errB != nil || isList != stillList || len(listA) != len(listB) {
			return true
		}
	}
	return false
}
