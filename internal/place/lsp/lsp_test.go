package lsp_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/lsp"
	"github.com/loomrun/loom/internal/place/lsp/lsptest"
)

// wire is one end of a conversation.
type wire struct {
	io.Reader
	io.WriteCloser
	close func()
}

func (w wire) Close() error {
	w.close()
	return nil
}

// with runs a server of a kind, which is gone when the test ends.
func with(t *testing.T, how string) io.ReadWriteCloser {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lsptest.Serve(in, out, how)
		_ = out.Close()
	}()
	end := func() {
		_ = toServer.Close()
		_ = fromServer.Close()
	}
	t.Cleanup(func() {
		end()
		<-done
	})
	return wire{fromServer, toServer, end}
}

var files = []lsp.File{
	{Path: "b.txt", Language: "text", Text: "fine\n\tthis is wrong\nso is that: wrong\n"},
	{Path: "a.txt", Language: "text", Text: "ü😀 wrong"},
	{Path: "c.txt", Language: "text", Text: "fine"},
}

func TestREPO01_WhatAServerFinds(t *testing.T) {
	want := lsp.Answer{Server: "words", Problems: []lsp.Problem{
		{Path: "a.txt", Line: 1, Column: 8, Severity: "warning", Source: "words", Code: "W1", Message: "this is wrong"},
		{Path: "b.txt", Line: 2, Column: 10, Severity: "warning", Source: "words", Code: "W1", Message: "this is wrong"},
		{Path: "b.txt", Line: 3, Column: 13, Severity: "warning", Source: "words", Code: "W1", Message: "this is wrong"},
	}}
	for _, how := range []string{lsptest.Pull, lsptest.Push} {
		got, err := lsp.Ask(t.Context(), with(t, how), lsp.Query{Root: "/src/a shop", Files: files, Quiet: 50 * time.Millisecond})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v; want -, got +:\n%s", how, err, diff)
		}
	}
}

func TestREPO01_ServersThatDoNotDoWhatTheyShould(t *testing.T) {
	longtest.Skip(t)
	for how, begun := range map[string]bool{lsptest.Silent: true, lsptest.Mute: false, lsptest.Garbage: false, lsptest.Crash: false} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		got, err := lsp.Ask(ctx, with(t, how), lsp.Query{Root: "/w", Files: files, Quiet: time.Millisecond})
		cancel()
		if begun && (err != nil || len(got.Silent) != 3) || !begun && fault.Code(err) != "lsp/failed" {
			t.Errorf("%s: %+v, %v", how, got, err)
		}
	}
}

func TestREPO01_WhatAServerSaysIsBounded(t *testing.T) {
	got, err := lsp.Ask(t.Context(), with(t, lsptest.Flood), lsp.Query{Root: "/w", Files: files[2:], Quiet: 50 * time.Millisecond})
	if err != nil || len(got.Problems) != lsp.MaxProblems || got.More != 1500 {
		t.Fatalf("%d problems and %d more, %v", len(got.Problems), got.More, err)
	}
	if m := got.Problems[0].Message; len(m) > 420 || !strings.HasSuffix(m, "[cut]") {
		t.Errorf("a message of %d bytes", len(m))
	}
}

func FuzzREPO01_WhateverAServerSays(f *testing.F) {
	f.Add([]byte("Content-Length: 4\r\n\r\nnull"))
	f.Add([]byte("Content-Length: 120\r\n\r\n" + `{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"file:///w/c.txt","diagnostics":[{}]}}`))
	f.Add([]byte("Content-Length: 99999999999\r\n\r\n{"))
	f.Fuzz(func(t *testing.T, said []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := io.NopCloser(strings.NewReader(string(said)))
		_, _ = lsp.Ask(ctx, wire{r, discard{}, func() {}}, lsp.Query{Root: "/w", Files: files[2:], Quiet: time.Millisecond})
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
