package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of JSON-RPC 2.0, section 5.1.
const (
	notJSON    = -32700
	notRequest = -32600
)

// lines are the messages that come in, a line each. One that is none is answered with
// an error, as JSON-RPC wants it, and left out: the library would end the session.
type lines struct {
	io.Closer // of what they come from
	from      *bufio.Reader
	to        *wholeWrites
	rest      []byte // of the message that is being read
}

func newLines(in io.ReadCloser, out *wholeWrites) *lines {
	return &lines{Closer: in, from: bufio.NewReader(in), to: out}
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next line if it is a message, with its end, and nothing if it is
// none.
func (l *lines) next() ([]byte, error) {
	line, whole, err := l.line()
	if err != nil && (!errors.Is(err, io.EOF) || whole && len(line) == 0) {
		return nil, err
	}
	trimmed := bytes.TrimSpace(line)
	switch {
	case !whole:
		return nil, l.refuse(notRequest, "the message is longer than 4 MiB")
	case len(trimmed) == 0:
		return nil, nil
	case !json.Valid(trimmed):
		return nil, l.refuse(notJSON, "the line is no JSON")
	case trimmed[0] == '[':
		return nil, l.refuse(notRequest, "messages come one by one, not in arrays")
	}
	if _, err := jsonrpc.DecodeMessage(trimmed); err != nil {
		return nil, l.refuse(notRequest, "the line is no message of JSON-RPC 2.0: "+err.Error())
	}
	return append(trimmed, '\n'), nil
}

// line reads up to the end of a line. One that is too long is read, and not kept.
func (l *lines) line() (line []byte, whole bool, err error) {
	for whole = true; ; {
		part, err := l.from.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// refuse answers what is no message. Nobody knows its id.
func (l *lines) refuse(code int, why string) error {
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why},
	})
	if err != nil {
		return err
	}
	_, err = l.to.Write(append(answer, '\n'))
	return err
}

// wholeWrites keeps writes of several goroutines apart. The library writes a message
// at a time.
type wholeWrites struct {
	mu sync.Mutex
	to io.WriteCloser
}

// Write implements io.Writer.
func (w *wholeWrites) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// Close implements io.Closer.
func (w *wholeWrites) Close() error { return w.to.Close() }
