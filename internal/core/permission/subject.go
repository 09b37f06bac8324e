package permission

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/lang/patch"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Keys of arguments whose values say what a call is about, at any depth: paths,
// and other text.
var (
	pathKeys = []string{"path", "paths", "file", "files", "filename", "file_path", "directory", "dir", "template", "to", "from", "source", "destination", "output", "input"}
	textKeys = []string{"command", "url", "uri", "query"}
)

// patchKey is the key of a patch, which is about every path in it.
const patchKey = "patch"

// Subjects returns what a call is about, in the order of the keys' names. A tool
// that takes a path and was given none is about the workspace, ".".
func Subjects(call *loomv1.ToolCall) []Subject {
	var arguments any
	if json.Unmarshal([]byte(call.GetArguments()), &arguments) != nil {
		return nil
	}
	list := gather(nil, "", arguments)
	if len(list) == 0 {
		list = append(list, Subject{Text: ".", Path: true})
	}
	return list
}

func gather(list []Subject, key string, value any) []Subject {
	switch v := value.(type) {
	case string:
		switch key = strings.ToLower(key); {
		case key == patchKey:
			for _, p := range patch.Paths(v) {
				list = append(list, Subject{Text: clean(p), Path: true})
			}
		case slices.Contains(textKeys, key):
			list = append(list, Subject{Text: v})
		case slices.Contains(pathKeys, key):
			list = append(list, Subject{Text: clean(v), Path: true})
		}
	case []any:
		for _, one := range v {
			list = gather(list, key, one)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			list = gather(list, k, v[k])
		}
	}
	return list
}

// clean is a path as patterns are held against it.
func clean(p string) string {
	return path.Clean(strings.TrimPrefix(p, "/"))
}
