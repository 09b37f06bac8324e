package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/identity"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A line is asked about like any other record: by who may read, in one's own projects,
// as the branches have it and not as a checkout does.
func TestBYD03_SEC01_ALineIsAskedAboutByWhoMayRead(t *testing.T) {
	all := two(t, identity.Request{Name: "eve", Kind: identity.Observer, Projects: []string{"shop"}})
	eve, ctx := all["eve"], t.Context()
	reply, err := eve.Why(ctx, &loomv1.WhyRequest{Project: "shop", Path: "a.txt", Line: 1})
	if err != nil || reply.GetLoom() || len(reply.Commit) != 40 || reply.GetText() == "" || reply.GetRev() != "main" {
		t.Errorf("a line that a person wrote: %v %v", reply, err)
	}
	for name, tt := range map[string]struct {
		q    *loomv1.WhyRequest
		code string
	}{
		"another project": {&loomv1.WhyRequest{Project: "other", Path: "a.txt", Line: 1}, "request/denied"},
		"no path":         {&loomv1.WhyRequest{Project: "shop", Line: 1}, "usage/argument"},
		"no line":         {&loomv1.WhyRequest{Project: "shop", Path: "a.txt"}, "usage/argument"},
		"beyond the end":  {&loomv1.WhyRequest{Project: "shop", Path: "a.txt", Line: 9000}, "git/unknown-line"},
		"outside":         {&loomv1.WhyRequest{Project: "shop", Path: "../other/a.txt", Line: 1}, "git/unknown-line"},
		"not committed":   {&loomv1.WhyRequest{Project: "shop", Path: "secret.txt", Line: 1}, "git/unknown-line"},
		"an option":       {&loomv1.WhyRequest{Project: "shop", Path: "a.txt", Line: 1, Rev: "--all"}, "git/unknown-branch"},
	} {
		if name == "not committed" {
			v, err := eve.Project(ctx, &loomv1.Query{Project: "shop"})
			if err != nil || len(v.Projects) != 1 {
				t.Fatalf("project shop: %v %v", v, err)
			}
			if err := os.WriteFile(filepath.Join(v.Projects[0].Repository, "secret.txt"), []byte("hunter2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		reply, err := eve.Why(ctx, tt.q)
		if fault.Code(err) != tt.code || strings.Contains(reply.String(), "hunter2") {
			t.Errorf("%s: %v %v, want %s", name, reply, err, tt.code)
		}
	}
}
