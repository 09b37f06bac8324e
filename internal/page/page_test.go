package page_test

import (
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/page"
)

// first is the most that the first view may take over the network, compressed.
const first = 200_000

// What is in the program is a page whose files are there, and that asks nobody else.
func TestUI01_ThePageIsWholeAndSmall(t *testing.T) {
	index, err := fs.ReadFile(page.Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:src|href)="/([^"]+)"`).FindAllStringSubmatch(string(index), -1)
	if len(named) < 3 {
		t.Errorf("index.html names %d files: want a script, styles and an icon", len(named))
	}
	if regexp.MustCompile(`<script[^>]*>[^<]|style=|\son[a-z]+=`).Match(index) {
		t.Errorf("index.html has something that its policy refuses:\n%s", index)
	}
	for _, n := range named {
		if _, err := fs.Stat(page.Files(), n[1]); err != nil {
			t.Errorf("index.html names a file that is not there: %v", err)
		}
	}
	size := &counter{}
	packed := gzip.NewWriter(size)
	err = fs.WalkDir(page.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(page.Files(), name)
		if err != nil {
			return err
		}
		for _, address := range regexp.MustCompile(`(?:fetch\(|import\(|url\(|src=|href=)["'\x60]?(?:https?:)?//[^"'\x60)]*`).FindAll(data, -1) {
			t.Errorf("%s asks for %s", name, address)
		}
		_, err = packed.Write(data)
		return err
	})
	if err != nil || packed.Close() != nil {
		t.Fatal(err)
	}
	if size.n == 0 || size.n > first {
		t.Errorf("%d bytes, compressed; want at most %d", size.n, first)
	}
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// Texts of others are shown as text: nothing in the sources makes markup of one.
func TestUI01_NothingMakesMarkupOfAText(t *testing.T) {
	files, err := filepath.Glob("src/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sources, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"{@html", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style=\"", "localStorage", "createPolicy"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s has %q", file, bad)
			}
		}
	}
}
