package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/plan"
)

// A workspace that is no code is told of by what its files are.
func TestPROC04_Workspace(t *testing.T) {
	files := fstest.MapFS{
		"brief.md":          {Data: []byte("intro\n\n# Brand guidelines\n")},
		"data/prices.csv":   {Data: []byte("\uFEFFname,price\na,1\n")},
		"report.pdf":        {Data: []byte("%PDF")},
		"odd.md":            {Data: []byte("\x00\xff")},
		".git/config":       {Data: []byte("x")},
		"node/.hidden/x.md": {Data: []byte("# no")},
		"LICENSE":           {Data: []byte("x")},
	}
	got := plan.Workspace(files, []string{"*.md, *.csv — what is written", "*.pdf — reports"}, 4096)
	want := "2 .md; 1 .csv; 1 .pdf; 1 without ending\n" +
		"brief.md: Brand guidelines\ndata/prices.csv: columns name,price\nodd.md\nreport.pdf\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if got := plan.Workspace(fstest.MapFS{}, nil, 4096); got != "The workspace is empty.\n" {
		t.Error(got)
	}
}

// What is told is bounded, however much there is.
func TestPROC04_WorkspaceIsBounded(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 6000 {
		files[fmt.Sprintf("d%d/file-%d.md", i%7, i)] = &fstest.MapFile{Data: []byte("# " + strings.Repeat("long ", 2000))}
	}
	got := plan.Workspace(files, nil, 4096)
	if len(got) > 4096+100 || !strings.Contains(got, "more than 5000 files") || !strings.Contains(got, "more files\n") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}
