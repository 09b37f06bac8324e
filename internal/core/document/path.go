package document

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Path leads to a value of an artifact: keys and indices. In a pointer a number may
// be either, which the value that it stands in decides.
type Path []step

type step struct {
	key     string // "" for an index
	index   int
	pointer bool // of a JSON pointer: a key that may be an index
	quoted  bool // in brackets and quotes: a key, even if empty
}

// ParsePath reads a dotted path with indices, sections[2].table.rows[5][3], with keys
// in quotes where they have other characters, totals["Cost (USD)"]; or a JSON pointer,
// /sections/2/table. It returns document/target with the character where it stopped.
func ParsePath(text string) (Path, error) {
	if strings.HasPrefix(text, "/") {
		return pointer(text)
	}
	var p Path
	rest := text
	bad := func(why string) (Path, error) {
		return nil, fault.New("document/target", "%s at character %d of the target", why, len(text)-len(rest)+1).Got(text).
			Want(`write it as sections[2].table.rows[5][3] or /sections/2/table/rows/5/3`)
	}
	for first := true; rest != ""; first = false {
		switch {
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if len(rest) > 1 && (rest[1] == '"' || rest[1] == '\'') {
				key, n, ok := quotedKey(rest[1:])
				if !ok || 1+n >= len(rest) || rest[1+n] != ']' {
					return bad("a quoted key has no end")
				}
				p, rest = append(p, step{key: key, quoted: true}), rest[n+2:]
				continue
			}
			if end < 0 {
				return bad("a bracket has no end")
			}
			n, err := strconv.Atoi(rest[1:end])
			if err != nil || n < 0 || strconv.Itoa(n) != rest[1:end] {
				return bad("an index is no number from 0")
			}
			p, rest = append(p, step{index: n}), rest[end+1:]
		case rest[0] == '.' && first:
			return bad("a key is missing")
		case rest[0] == '.' || first:
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return bad("a key is missing")
			}
			p, rest = append(p, step{key: rest[:end]}), rest[end:]
		default:
			return bad("a point or a bracket is missing")
		}
	}
	if len(p) == 0 {
		return nil, fault.New("document/target", "the target is empty")
	}
	return p, nil
}

func pointer(text string) (p Path, err error) {
	for token := range strings.SplitSeq(text[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return nil, fault.New("document/target", "in a JSON pointer ~ is written ~0, and / is written ~1").Got(text)
		}
		p = append(p, step{key: strings.NewReplacer("~1", "/", "~0", "~").Replace(token), pointer: true})
	}
	return p, nil
}

// quotedKey reads a key in quotes and returns how many bytes it took.
func quotedKey(text string) (key string, n int, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] == quote:
			return b.String(), i + 1, true
		default:
			b.WriteByte(text[i])
		}
	}
	return "", 0, false
}

func quoteKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// String writes the path in dotted form; [ParsePath] reads it back.
func (p Path) String() string {
	text := ""
	for _, s := range p {
		switch {
		case s.isIndex():
			text += fmt.Sprintf("[%d]", s.index)
		default:
			text = join(text, s.key)
		}
	}
	return text
}

func (s step) isIndex() bool { return s.key == "" && !s.pointer && !s.quoted }

// at is the index that a step means in a list of n.
func (s step) at(n int) (int, bool) {
	i := s.index
	if !s.isIndex() {
		var err error
		if i, err = strconv.Atoi(s.key); err != nil || !s.pointer || strconv.Itoa(i) != s.key {
			return 0, false
		}
	}
	return i, i >= 0 && i < n
}

// change is what becomes of the value at a path: another one, or none.
type change func(old any, there bool) (now any, keep bool, err error)

// alter returns the tree in which the value at the path is changed; what the path
// does not touch is shared with the old tree, which stays as it is. The last key of a
// path need not be there.
func alter(tree any, p Path, done int, do change) (any, bool, error) {
	if done == len(p) {
		return do(tree, true)
	}
	s := p[done]
	missing := func(format string, args ...any) *fault.Error {
		return fault.New("document/target", format, args...).At(p[:done+1].String())
	}
	switch node := tree.(type) {
	case map[string]any:
		if s.isIndex() {
			return nil, false, missing("%s is an object, and has no element %d", shown(p[:done].String()), s.index)
		}
		old, there := node[s.key]
		if !there && done < len(p)-1 {
			return nil, false, missing("%s has no such key", shown(p[:done].String())).Want("%s", suggest.Among(s.key, slices.Sorted(maps.Keys(node))))
		}
		now, keep, err := any(nil), false, error(nil)
		if there {
			now, keep, err = alter(old, p, done+1, do)
		} else {
			now, keep, err = do(nil, false)
		}
		if err != nil {
			return nil, false, err
		}
		changed := maps.Clone(node)
		if delete(changed, s.key); keep {
			changed[s.key] = now
		}
		return changed, true, nil
	case []any:
		i, ok := s.at(len(node))
		if !ok {
			return nil, false, missing("%s is a list of %d, and has no such element", shown(p[:done].String()), len(node))
		}
		now, keep, err := alter(node[i], p, done+1, do)
		if err != nil {
			return nil, false, err
		}
		if !keep {
			return slices.Delete(slices.Clone(node), i, i+1), true, nil
		}
		changed := slices.Clone(node)
		changed[i] = now
		return changed, true, nil
	}
	return nil, false, missing("%s is %s, and has nothing below it", shown(p[:done].String()), nameOf(tree))
}

// get returns the value at a path.
func get(tree any, p Path) (value any, err error) {
	_, _, err = alter(tree, p, 0, func(old any, there bool) (any, bool, error) {
		if !there {
			return nil, false, fault.New("document/target", "there is no such value").At(p.String())
		}
		value = old
		return old, true, nil
	})
	return value, err
}

// set puts a value at a path, whose last key need not be there.
func set(tree any, p Path, value any) (any, error) {
	now, _, err := alter(tree, p, 0, func(any, bool) (any, bool, error) { return value, true, nil })
	return now, err
}

// resolved is the path with every step of a pointer as what it means in the tree.
func (p Path) resolved(tree any) Path {
	out := slices.Clone(p)
	for i, s := range p {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[s.key]
			out[i] = step{key: s.key, quoted: s.key == ""}
		case []any:
			n, ok := s.at(len(node))
			if !ok {
				return out
			}
			out[i], tree = step{index: n}, node[n]
		default:
			return out
		}
	}
	return out
}
