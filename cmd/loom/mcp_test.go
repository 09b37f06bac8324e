package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocol is a client of the Model Context Protocol for stories:
//
//	protocol [http URL TOKEN | FLAGS] -- [TOOL ARGUMENTS]
//
// It starts "loom mcp serve FLAGS", or asks a host over HTTP, and prints the
// names of its tools, or what a call answers.
func protocol() {
	serve, args := os.Args[1:], []string(nil)
	if i := slices.Index(serve, "--"); i >= 0 {
		serve, args = serve[:i], serve[i+1:]
	}
	if err := speak(serve, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func speak(serve, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var transport mcp.Transport = &mcp.CommandTransport{Command: exec.CommandContext(ctx, "loom", append([]string{"mcp", "serve"}, serve...)...)}
	if len(serve) == 3 && serve[0] == "http" {
		transport = &mcp.StreamableClientTransport{Endpoint: serve[1] + "/mcp", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(serve[2])}}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "story", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if len(args) == 0 {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			fmt.Println(tool.Name)
		}
		return nil
	}
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: args[0], Arguments: json.RawMessage(args[1])})
	if err != nil {
		return err
	}
	if r.IsError {
		fmt.Print("refused: ")
	}
	fmt.Println(r.Content[0].(*mcp.TextContent).Text)
	return nil
}

// bearer shows a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
