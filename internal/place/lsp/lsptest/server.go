// Package lsptest is a small language server for tests, which a test's own
// program turns into when it is started with certain arguments. It finds the word
// "wrong" in files.
package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf16"
)

// Argument is the first argument of a program that shall be the server; the second
// says how it is.
const Argument = "loom-test-language-server"

// The ways a server is.
const (
	Pull    = "pull"    // it is asked for what is wrong
	Push    = "push"    // it tells by itself: first that nothing is, then what is
	Silent  = "silent"  // it greets, and tells nothing
	Mute    = "mute"    // it never says anything
	Crash   = "crash"   // it says what ails it, and ends
	Flood   = "flood"   // it tells of more than anybody wants to know
	Garbage = "garbage" // it says what is no message
)

// ServeIfAsked becomes the server, and ends the program with it, if the arguments
// say so.
func ServeIfAsked() {
	if len(os.Args) > 2 && os.Args[1] == Argument {
		Serve(os.Stdin, os.Stdout, os.Args[2])
		os.Exit(0)
	}
}

// Serve speaks the protocol until there is nothing more to read.
func Serve(in io.Reader, out io.Writer, how string) {
	s := &server{out: out, how: how, texts: map[string]string{}}
	switch how {
	case Crash:
		fmt.Fprintln(os.Stderr, "no such view")
		return
	case Garbage:
		fmt.Fprint(out, "hello\r\n\r\n")
	}
	for r := bufio.NewReader(in); ; {
		m, err := read(r)
		if err != nil || m.Method == "exit" {
			return
		}
		if how != Mute {
			s.hear(m)
		}
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TextDocument struct {
			URI  string `json:"uri"`
			Text string `json:"text"`
		} `json:"textDocument"`
	} `json:"params"`
}

// read reads a message: its length in a head, and JSON.
func read(r *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil {
			return m, err
		}
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

type server struct {
	out   io.Writer
	how   string
	texts map[string]string
}

func (s *server) hear(m message) {
	uri := m.Params.TextDocument.URI
	switch m.Method {
	case "initialize":
		capabilities := map[string]any{"textDocumentSync": 1}
		if s.how == Pull {
			capabilities["diagnosticProvider"], capabilities["positionEncoding"] = map[string]any{}, "utf-8"
		}
		s.answer(m, map[string]any{"capabilities": capabilities, "serverInfo": map[string]any{"name": "words"}})
	case "textDocument/didOpen":
		s.texts[uri] = m.Params.TextDocument.Text
		s.opened(uri)
	case "textDocument/diagnostic":
		s.answer(m, map[string]any{"kind": "full", "items": s.problems(uri)})
	case "shutdown":
		s.answer(m, nil)
	}
}

// opened tells of a file what a server tells by itself. It asks for what a client
// may refuse, and works for a while.
func (s *server) opened(uri string) {
	switch s.how {
	case Push:
		s.send(map[string]any{"id": 900, "method": "workspace/applyEdit", "params": map[string]any{}})
		s.send(map[string]any{"id": 901, "method": "workspace/configuration", "params": map[string]any{"items": []any{map[string]any{}}}})
		s.send(map[string]any{"method": "$/progress", "params": map[string]any{"token": 7, "value": map[string]any{"kind": "begin", "title": "load"}}})
		s.publish(uri, nil)
		s.send(map[string]any{"method": "$/progress", "params": map[string]any{"token": 7, "value": map[string]any{"kind": "end"}}})
		s.publish(uri, s.problems(uri))
	case Flood:
		var many []any
		for i := range 2000 {
			many = append(many, problem(i, 0, strings.Repeat("much ", 200)))
		}
		s.publish(uri, many)
	}
}

func (s *server) publish(uri string, list []any) {
	s.send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": uri, "diagnostics": append([]any{}, list...)}})
}

// problems are the places of the word, later ones first.
func (s *server) problems(uri string) []any {
	list := []any{}
	for n, line := range strings.Split(s.texts[uri], "\n") {
		if i := strings.Index(line, "wrong"); i >= 0 {
			if s.how != Pull {
				i = len(utf16.Encode([]rune(line[:i])))
			}
			list = append([]any{problem(n, i, "this is\nwrong")}, list...)
		}
	}
	return list
}

func problem(line, character int, text string) any {
	at := map[string]any{"line": line, "character": character}
	return map[string]any{"range": map[string]any{"start": at, "end": at}, "severity": 2, "source": "words", "code": "W1", "message": text}
}

func (s *server) answer(m message, result any) {
	s.send(map[string]any{"id": m.ID, "result": result})
}

func (s *server) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	if err == nil {
		fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(data), data)
	}
}
