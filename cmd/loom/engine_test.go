package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

// searchEngine answers each question on a port of its own as a SearXNG server does, with
// what a file has: search-engine ANSWER URL. It writes its address to the file URL.
func searchEngine() {
	if len(os.Args) != 3 {
		give(fmt.Errorf("usage: search-engine ANSWER URL"))
	}
	answer, err := os.ReadFile(os.Args[1])
	give(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	give(err)
	give(os.WriteFile(os.Args[2], []byte("http://"+l.Addr().String()+"\n"), 0o600))
	give(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // the story ends it
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})))
}
