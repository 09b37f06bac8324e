package run

import (
	"os"
	"path/filepath"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestPROC05_WorkIsHandedToTheProjectOfItsDirectory finds the project of a directory, also
// by a link and within another project's repository, and none for a directory of no project,
// were there only one.
func TestPROC05_WorkIsHandedToTheProjectOfItsDirectory(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"shop/cart", "shop/inner/deep", "notes", "shopping"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "shop/cart"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	shop := &loomv1.ProjectConfig{Id: "shop", Repository: filepath.Join(root, "shop")}
	inner := &loomv1.ProjectConfig{Id: "inner", Repository: filepath.Join(root, "shop/inner")}
	for _, tt := range []struct {
		dir, want string
		projects  []*loomv1.ProjectConfig
	}{
		{"shop", "shop", []*loomv1.ProjectConfig{shop, inner}},
		{"shop/cart", "shop", []*loomv1.ProjectConfig{inner, shop}},
		{"link", "shop", []*loomv1.ProjectConfig{shop}},
		{"shop/inner/deep", "inner", []*loomv1.ProjectConfig{shop, inner}},
		{"notes", "", []*loomv1.ProjectConfig{shop}},
		{"shopping", "", []*loomv1.ProjectConfig{shop, {Id: "odd"}}},
		{"notes", "", nil},
	} {
		if got := projectAt(filepath.Join(root, tt.dir), tt.projects); got != tt.want {
			t.Errorf("%s is of project %q, want %q", tt.dir, got, tt.want)
		}
	}
}
