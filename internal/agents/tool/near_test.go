package tool_test

import (
	"strings"
	"testing"
)

// A path that is not there is answered with those that may have been meant.
func TestTOOL02_NearPaths(t *testing.T) {
	s, _ := workspace(t, map[string]string{"pkg/shop/cart.go": "x", "pkg/bill/cart.go": "x", "pkg/shop/total.go": "x", "README.md": "x"})
	for _, tt := range []struct{ tool, path, want string }{
		{"file_read", "cart.go", "there is pkg/bill/cart.go, pkg/shop/cart.go"},
		{"file_read", "src/shop/cart.go", "there is pkg/shop/cart.go, pkg/bill/cart.go"},
		{"file_read", "pkg/shop/totals.go", "there is pkg/shop/total.go"},
		{"content_search", "pkg/shp", ""},
		{"file_read", "entirely/else.txt", ""},
		{"file_edit", "pkg/total.go", "there is pkg/shop/total.go"},
	} {
		a := args{"path": tt.path}
		switch tt.tool {
		case "content_search":
			a["pattern"] = "x"
		case "file_edit":
			a["old_text"], a["new_text"] = "x", "y"
		}
		r := do(t, s, tt.tool, a)
		if r.Code != "tool/not-found" || !strings.Contains(r.Output, tt.want) {
			t.Errorf("%s %s: %s %s, want %q", tt.tool, tt.path, r.Code, r.Output, tt.want)
		}
		if tt.want == "" && strings.Contains(r.Output, "; there is") {
			t.Errorf("%s %s: %s, want no path", tt.tool, tt.path, r.Output)
		}
	}
}
