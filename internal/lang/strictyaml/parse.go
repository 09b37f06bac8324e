package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/base/fault"
)

// plain returns data without a byte order mark, or why it is not UTF-8 text of
// a bearable size.
func plain(file string, data []byte) ([]byte, *fault.Error) {
	start := file + ":1:1"
	if len(data) > MaxBytes {
		return nil, fault.New("yaml/limit", "the file has %d bytes, more than %d", len(data), MaxBytes).At(start)
	}
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return nil, fault.New("yaml/encoding", "the file is UTF-16 or UTF-32").At(start).Want("save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return nil, fault.New("yaml/encoding", "a byte that is not UTF-8 text").
				At(placeOf(file, data, i)).Got(string(data[i : i+1])).Want("save it as UTF-8")
		}
		i += n
	}
	return data, nil
}

func placeOf(file string, data []byte, offset int) string {
	line := 1 + bytes.Count(data[:offset], []byte("\n"))
	begin := 1 + bytes.LastIndexByte(data[:offset], '\n')
	return fmt.Sprintf("%s:%d:%d", file, line, 1+utf8.RuneCount(data[begin:offset]))
}

// compose returns the value of the one document in text.
func compose(file string, text []byte) (*yaml.Node, *fault.Error) {
	docs, err := documents(bytes.NewReader(text))
	switch {
	case err != nil:
		return nil, syntax(file, text, err)
	case len(docs) == 0 || len(docs[0].Content) == 0:
		return nil, fault.New("yaml/documents", "the file is empty").At(file + ":1:1")
	case len(docs) > 1:
		return nil, fault.New("yaml/documents", "a second document begins here").
			At(fmt.Sprintf("%s:%d:%d", file, docs[1].Line, docs[1].Column)).Want("one document a file")
	}
	return docs[0].Content[0], nil
}

// documents reads at most two documents. The library panics on some input that
// it does not understand; that is a syntax error as well.
func documents(r io.Reader) (docs []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	dec := yaml.NewDecoder(r)
	for len(docs) < 2 {
		n := new(yaml.Node)
		if err := dec.Decode(n); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
	return docs, nil
}

// syntax makes the library's error ours. The line that the library names is
// where the surrounding construct began, so the place is looked for anew.
func syntax(file string, text []byte, err error) *fault.Error {
	lines := bytes.SplitAfter(text, []byte("\n"))
	n := breaks(text, lines)
	line := string(lines[n-1])
	indent := len(line) - len(strings.TrimLeft(line, " "))
	return fault.New("yaml/syntax", "not YAML: %s", reason(err)).
		At(fmt.Sprintf("%s:%d:%d", file, n, 1+indent)).
		Got(strings.TrimSpace(line))
}

// reason is what the library says without its prefix and its line.
func reason(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(s, "line "); ok {
		if _, after, ok := strings.Cut(rest, ": "); ok {
			return after
		}
	}
	return s
}

// breaks returns the number of the first line from which on no prefix of the
// text is YAML. The reader stops at the line with the error, give or take its
// look-ahead; from there it is searched upwards. When that has read 16 times
// the largest file, the line where the reader stopped has to do.
func breaks(text []byte, lines [][]byte) int {
	reached := reached(text)
	size, stop := 0, 0
	for stop < len(lines) && size < reached {
		size += len(lines[stop])
		stop++
	}
	work := 0
	for n := stop; n > 0; n-- {
		size -= len(lines[n-1])
		if _, err := documents(bytes.NewReader(text[:size])); err == nil {
			return n
		}
		if work += size + 1024; work > 16*MaxBytes {
			break
		}
	}
	return max(stop, 1)
}

// reached returns how many bytes the library had read when it gave up.
func reached(text []byte) int {
	r := bytes.NewReader(text)
	_, _ = documents(oneByte{r}) // fails as before: only how far it came is of interest
	return len(text) - r.Len()
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }
