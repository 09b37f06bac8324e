package main

import (
	"bytes"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF09_TheInboxSaysHowManyFilesItLeavesOut(t *testing.T) {
	file := []*loomv1.ChangedFile{{Path: "cart.go", Status: "modified", Added: 1}}
	for _, tt := range []struct {
		files []*loomv1.ChangedFile
		total uint32
		want  string
	}{
		{nil, 0, ""},
		{nil, 1, "  files changed: 1\n"},
		{file, 1, "  modified cart.go +1 -0\n"},
		{file, 3, "  modified cart.go +1 -0\n  more files changed: 2\n"},
	} {
		var w bytes.Buffer
		approvalHead(&w, &loomv1.Approval{Id: "shop-2", Change: &loomv1.Change{Files: tt.files, FilesTotal: tt.total}})
		if _, got, _ := strings.Cut(w.String(), "\n  \n"); got != tt.want {
			t.Errorf("%d of %d files: %q, want %q", len(tt.files), tt.total, got, tt.want)
		}
	}
}
