package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/net/mcpserver"
)

// A line that is no message is answered as JSON-RPC 2.0 wants it, and ends nothing.
func TestTOOL06_WhatIsNoMessageEndsNoSession(t *testing.T) {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		defer func() { _ = toClient.Close() }()
		ended <- mcpserver.Serve(t.Context(), mcpserver.Config{}, fromClient, toClient)
	}()
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	ask := func(line string) (code int, id any) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("%.60q ended the session", line)
		}
		var a struct {
			ID    any
			Error struct{ Code int }
		}
		if err := json.Unmarshal(answers.Bytes(), &a); err != nil {
			t.Fatalf("%.60q is answered with %s: %v", line, answers.Bytes(), err)
		}
		return a.Error.Code, a.ID
	}
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if code, id := ask(begin); code != 0 || id != 1.0 {
		t.Fatalf("initialize: code %d, id %v", code, id)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n\n"); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		line string
		code int
	}{
		{"not json", -32700},
		{`{"jsonrpc":"2.0",`, -32700},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), -32700},
		{"\xff\xfe", -32700},
		{"null", -32600},
		{`"text"`, -32600},
		{"[]", -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0"}`, -32600},
		{strings.Repeat("x", 5<<20), -32600},
	} {
		if code, id := ask(tt.line); code != tt.code || id != nil {
			t.Errorf("%.60q: code %d, id %v, want %d", tt.line, code, id, tt.code)
		}
		if code, id := ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 10+i)); code != 0 || id != float64(10+i) {
			t.Errorf("a ping after %.60q: code %d, id %v", tt.line, code, id)
		}
	}
	if code, _ := ask(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"x","arguments":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`); code == 0 {
		t.Error("a call with arguments 5,000 deep is carried out")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the session ended with %v", err)
	}
}
