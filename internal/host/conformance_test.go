package host

import (
	"flag"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"testing"
)

var conformance = flag.String("mcp.conformance", "", "the program `conformance` of @modelcontextprotocol/conformance, to hold /mcp against")

// conformant are the scenarios of the protocol's conformance program for what
// Loom serves. The others want tools, prompts and resources of the program's own,
// completion, or sessions, which a server may have or not.
var conformant = []string{
	"server-initialize", "ping", "tools-list", "logging-set-level", "resources-list", "prompts-list", "dns-rebinding-protection",
}

// TestTOOL06_TheProtocolsConformanceProgram holds /mcp against the public
// conformance program of the Model Context Protocol. That one knows no tokens:
// they are added on the way.
//
//	npm install @modelcontextprotocol/conformance node@22
//	PATH=$PWD/node_modules/.bin:$PATH go test ./internal/host -v -run Conformance -args -mcp.conformance conformance
func TestTOOL06_TheProtocolsConformanceProgram(t *testing.T) {
	if *conformance == "" {
		t.Log("NOT RUN: -args -mcp.conformance FILE names the program")
		return
	}
	d, secret := site(t, "shop")
	to, err := url.Parse(d.host.Load().HTTP())
	if err != nil {
		t.Fatal(err)
	}
	way := httptest.NewUnstartedServer(nil)
	own := way.Listener.Addr().String()
	way.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to) // with its host
		if r.In.Host != own {
			r.Out.Host = r.In.Host
		}
		if r.In.Header.Get("Origin") == "http://"+own {
			r.Out.Header.Set("Origin", to.String())
		}
		r.Out.Header.Set("Authorization", "Bearer "+secret)
	}}
	way.Start()
	defer way.Close()
	for _, scenario := range conformant {
		t.Run(scenario, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), *conformance, "server", "--url", way.URL+"/mcp", "--scenario", scenario).CombinedOutput()
			if t.Logf("%s", out); err != nil {
				t.Error(err)
			}
		})
	}
}
