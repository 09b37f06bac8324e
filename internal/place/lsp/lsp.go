// Package lsp asks a language server what is wrong with files: it speaks the
// Language Server Protocol over a connection that it is given.
//
// It promises that what a server says is bounded (64 MiB in all, 500 problems,
// 400 characters each), that problems come sorted, with lines and columns from 1
// as compilers count them, and that files which the server was silent about are
// named. A server that can be asked for a file's problems is asked; of one that
// tells them by itself, they are what it has told when it has been quiet for a
// while.
//
// It starts no process, reads no file and changes none: what a server wants to
// have done (edits, commands, questions to a person) is refused.
package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/loomrun/loom/internal/base/fault"
)

// Bounds of what a server says.
const (
	MaxBytes    = 64 << 20
	MaxProblems = 500
	maxMessage  = 400 // characters of a problem
)

// Query is what a server is asked.
type Query struct {
	// Root is the absolute path of the directory that the files are in.
	Root string
	// Files are what it looks at, as they are given here and not on the disk.
	Files []File
	// Quiet is how long a server that tells problems by itself says nothing before
	// it is taken to be done. Zero means a second.
	Quiet time.Duration
}

// File is a text with its path from the root, with slashes, and the language that
// the protocol knows it by.
type File struct{ Path, Language, Text string }

// Problem is one thing that is wrong. Line and Column count from 1, Column in
// bytes.
type Problem struct {
	Path         string
	Line, Column int
	// Severity is error, warning, information or hint.
	Severity string
	// Source and Code say who found it and what kind it is; both may be empty.
	Source, Code string
	Message      string
}

// Answer is what a server said.
type Answer struct {
	// Server is what it calls itself; empty when it does not.
	Server string
	// Problems are sorted by path, line and column.
	Problems []Problem
	// More is how many problems are not in the list.
	More int
	// Silent are the files that it said nothing about.
	Silent []Silence
}

// Silence is a file that nothing is known of: in time, or because the server says
// why.
type Silence struct{ Path, Why string }

// Ask opens the files at a server, collects what is wrong with them, and takes
// its leave. It closes wire and returns when nothing uses it any more. When ctx
// ends first, the answer is what there was until then, if the server had begun to
// work; else the error is lsp/failed.
func Ask(ctx context.Context, wire io.ReadWriteCloser, q Query) (Answer, error) {
	t := &talk{q: q, told: map[string][]diagnostic{}, why: map[string]string{}, works: map[string]bool{}, news: make(chan struct{}, 1)}
	stream := jsonrpc2.NewBufferedStream(&bounded{wire, MaxBytes}, jsonrpc2.VSCodeObjectCodec{})
	t.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), stream, t, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	defer t.leave(wire)
	defer context.AfterFunc(ctx, func() { _ = wire.Close() })() // also when it does not read what it is told
	if err := t.begin(ctx); err != nil {
		return Answer{}, fault.New("lsp/failed", "the language server does not answer: %s", err)
	}
	if t.asks {
		t.askEach(ctx)
	} else {
		t.listen(ctx)
	}
	return t.answer(), nil
}

// bounded reads so many bytes and no more.
type bounded struct {
	io.ReadWriteCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("it says too much")
	}
	n, err := b.ReadWriteCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// talk is a conversation with a server.
type talk struct {
	q    Query
	conn *jsonrpc2.Conn
	name string
	utf8 bool // columns are bytes and not UTF-16
	asks bool // the server is asked for problems

	mu    sync.Mutex
	told  map[string][]diagnostic // by address
	why   map[string]string       // a file's address to why it is not told of
	works map[string]bool         // what the server says it works on
	news  chan struct{}

	replies sync.WaitGroup
}

func (t *talk) begin(ctx context.Context) error {
	var hello initialized
	if err := t.conn.Call(ctx, "initialize", hi(t.q.Root), &hello); err != nil {
		return err
	}
	t.name = hello.ServerInfo.Name
	t.utf8 = hello.Capabilities.PositionEncoding == "utf-8"
	t.asks = len(hello.Capabilities.DiagnosticProvider) > 0 && string(hello.Capabilities.DiagnosticProvider) != "null"
	if err := t.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	for _, f := range t.q.Files {
		open := didOpen{textDocument{URI: t.address(f), LanguageID: f.Language, Version: 1, Text: f.Text}}
		if err := t.conn.Notify(ctx, "textDocument/didOpen", open); err != nil {
			return err
		}
	}
	return nil
}

// askEach asks for the problems of each file.
func (t *talk) askEach(ctx context.Context) {
	for _, f := range t.q.Files {
		var r report
		ask := documentParams{TextDocument: identifier{URI: t.address(f)}}
		if err := t.conn.Call(ctx, "textDocument/diagnostic", ask, &r); err != nil {
			t.refused(t.address(f), err)
			continue // it is among the silent ones
		}
		t.tell(t.address(f), r.Items)
	}
}

// listen waits until the server has told of every file, works on nothing, and has
// been quiet for a while.
func (t *talk) listen(ctx context.Context) {
	quiet := cmp.Or(t.q.Quiet, time.Second)
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-t.news:
		case <-timer.C:
			if t.complete() {
				return
			}
		case <-t.conn.DisconnectNotify():
			return
		case <-ctx.Done():
			return
		}
		timer.Reset(quiet)
	}
}

func (t *talk) complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.works) == 0 && !slices.ContainsFunc(t.q.Files, func(f File) bool { return t.told[t.address(f)] == nil })
}

// tell keeps what is wrong with a file, in the place of what was before.
func (t *talk) tell(uri string, list []diagnostic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told[uri] = append([]diagnostic{}, list...)
}

// refused keeps why the server does not tell what is wrong with a file.
func (t *talk) refused(uri string, err error) {
	var said *jsonrpc2.Error
	if !errors.As(err, &said) {
		return // it said nothing
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.why[uri] = clean(said.Message, maxMessage)
}

// leaveWithin is how long a server may take to say goodbye.
const leaveWithin = 2 * time.Second

// leave ends the conversation as the protocol has it, and the connection whatever
// the server does.
func (t *talk) leave(wire io.Closer) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = wire.Close() })()
	if t.conn.Call(ctx, "shutdown", nil, nil) == nil {
		_ = t.conn.Notify(ctx, "exit", nil)
	}
	_ = t.conn.Close()
	<-t.conn.DisconnectNotify()
	t.replies.Wait()
}

// Handle hears what the server says by itself. It never blocks: a server may be
// told something only when it has said all that it wants to.
func (t *talk) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	if r.Notif {
		t.hear(r.Method, params)
		select {
		case t.news <- struct{}{}:
		default:
		}
		return
	}
	t.replies.Go(func() {
		if result, ok := granted(r.Method, params); ok {
			_ = conn.Reply(ctx, r.ID, result)
			return
		}
		_ = conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "this client does not do that"})
	})
}

func (t *talk) hear(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		var p published
		if json.Unmarshal(params, &p) == nil {
			t.tell(p.URI, p.Diagnostics)
		}
	case "$/progress":
		var p progress
		if json.Unmarshal(params, &p) == nil {
			t.work(string(p.Token), p.Value.Kind)
		}
	}
}

// work notes what the server begins and ends to work on.
func (t *talk) work(token, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch kind {
	case "begin":
		t.works[token] = true
	case "end":
		delete(t.works, token)
	}
}

// granted answers what a server may ask: its settings, of which there are none,
// and to be heard.
func granted(method string, params json.RawMessage) (any, bool) {
	switch method {
	case "workspace/configuration":
		var p struct {
			Items []json.RawMessage `json:"items"`
		}
		_ = json.Unmarshal(params, &p)
		return make([]any, min(len(p.Items), 1000)), true
	case "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability", "workspace/diagnostic/refresh":
		return nil, true
	}
	return nil, false
}

// address is where a file is, as the protocol says it.
func (t *talk) address(f File) string { return addressOf(t.q.Root + "/" + f.Path) }

func addressOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func (t *talk) answer() Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := Answer{Server: clean(t.name, 60)}
	for _, f := range t.q.Files {
		list, heard := t.told[t.address(f)]
		if !heard {
			a.Silent = append(a.Silent, Silence{f.Path, t.why[t.address(f)]})
		}
		lines := strings.Split(f.Text, "\n")
		for _, d := range list {
			a.Problems = append(a.Problems, t.problem(f.Path, lines, d))
		}
	}
	slices.SortStableFunc(a.Problems, func(p, q Problem) int {
		return cmp.Or(cmp.Compare(p.Path, q.Path), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Message, q.Message))
	})
	a.Problems = slices.Compact(a.Problems)
	if n := len(a.Problems) - MaxProblems; n > 0 {
		a.Problems, a.More = a.Problems[:MaxProblems], n
	}
	return a
}

var severities = []string{"error", "error", "warning", "information", "hint"}

func (t *talk) problem(path string, lines []string, d diagnostic) Problem {
	p := Problem{Path: path, Line: fromOne(d.Range.Start.Line), Column: fromOne(d.Range.Start.Character), Severity: "error"}
	if !t.utf8 && p.Line <= len(lines) {
		p.Column = column(lines[p.Line-1], d.Range.Start.Character)
	}
	if d.Severity > 0 && d.Severity < len(severities) {
		p.Severity = severities[d.Severity]
	}
	p.Source, p.Code, p.Message = clean(d.Source, 60), clean(strings.Trim(string(d.Code), `"`), 60), clean(d.Message, maxMessage)
	return p
}

// fromOne counts from 1 what counts from 0, whatever was said.
func fromOne(n int) int { return min(max(n, 0), 1<<30) + 1 }

// column is the byte, from 1, of a line at which so many UTF-16 units have gone
// by.
func column(line string, units int) int {
	for i, r := range line {
		if units <= 0 {
			return i + 1
		}
		units--
		if r > 0xffff {
			units--
		}
	}
	return len(line) + 1
}

// clean makes one line of at most n characters.
func clean(s string, n int) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if len(runes) > n {
		return string(runes[:n]) + " [cut]"
	}
	return string(runes)
}
