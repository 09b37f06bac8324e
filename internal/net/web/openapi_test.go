package web_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/net/web"
	"github.com/loomrun/loom/test/docs"
)

// The description is valid in itself, and has every route with what it takes:
// what it says is there, and what it does not say is refused.
func TestHTTP_TheDescriptionIsTheInterface(t *testing.T) {
	w := start(t)
	var d struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Summary    string
			Security   []map[string][]string
			Parameters []struct{ Name, In string }
			Responses  map[string]any
		}
		Components struct {
			Schemas map[string]*struct{ Required []string }
		}
	}
	text := w.do("GET", "/api/v1/openapi.json", "").body
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.OpenAPI != "3.1.0" {
		t.Fatalf("description: %v, version %q", err, d.OpenAPI)
	}
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([A-Za-z]+)"`).FindAllStringSubmatch(text, -1) {
		if d.Components.Schemas[ref[1]] == nil {
			t.Errorf("schema %s is named and not there", ref[1])
		}
	}
	if *described != "" {
		if err := os.WriteFile(*described, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.Components.Schemas["SayRequest"]; fmt.Sprint(got.Required) != "[id text request]" {
		t.Errorf("of a SayRequest %v are required, want its id, text and request", got.Required)
	}
	calls := 0
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, o := range d.Paths[path] {
			calls++
			method = strings.ToUpper(method)
			if o.Summary == "" || o.Responses["200"] == nil || o.Responses["default"] == nil {
				t.Errorf("%s %s is not described: %+v", method, path, o)
			}
			token := fmt.Sprintf("Authorization: Bearer good-read,submit,operate,audit#%d", calls)
			if a := w.do(method, strings.ReplaceAll(path, "{id}", "x"), "{}", asJSON); (a.status == 401) != (len(o.Security) > 0) {
				t.Errorf("%s %s without a token: %d, described with %v", method, path, a.status, o.Security)
			}
			if path == "/api/v1/events" || path == "/api/v1/live" {
				continue
			}
			query := "?"
			for _, p := range o.Parameters {
				if p.In == "query" {
					query += p.Name + "=" + map[string]string{
						"oldest": "true", "newest": "true", "limit": "1", "tokens": "100", "number": "1", "at_least": "1", "line": "1", "from": "2026-01-02T12:00:00Z", "to": "2026-01-02T12:00:00Z", "time": "2026-01-02T12:00:00Z",
						"since": "2026-01-02T12:00:00Z", "at": "0.1.1.0", "after": "",
					}[p.Name] + "&"
				}
			}
			if a := w.do(method, strings.ReplaceAll(path, "{id}", "x")+strings.TrimRight(query, "?&"), "{}", token, asJSON); a.status != 200 {
				t.Errorf("%s %s%s: %d %s", method, path, query, a.status, a.body)
			}
		}
	}
	want := 0
	for _, r := range web.Routes() {
		want++
		method, path, _ := strings.Cut(r, " ")
		if _, ok := d.Paths[path][strings.ToLower(method)]; !ok {
			t.Errorf("%s is not described", r)
		}
	}
	if calls != want {
		t.Errorf("%d calls are described, there are %d", calls, want)
	}
}

// described is where the description is written for those that read it as a file.
var described = flag.String("openapi", "", "`FILE` to write the description of the interface to")

// update says whether to write instead of checking.
var update = flag.Bool("update", false, "write the generated part of docs/operating.md")

// The operator's guide lists every route.
func TestHTTP_TheGuideHasEveryRoute(t *testing.T) {
	docs.Part(t, "../../../docs/operating.md", "routes", web.RoutesText(), *update)
}
