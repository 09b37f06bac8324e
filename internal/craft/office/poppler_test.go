//go:build libreoffice

package office

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/loomrun/loom/internal/craft/foreign"
)

// What we read in a pdf is what poppler reads in it: the words of our own files, and of
// what LibreOffice makes of our packages, with and without a structure.
func TestDOC06_PDFsAreReadAsPopplerReadsThem(t *testing.T) {
	dir := t.TempDir()
	for _, s := range samples(t) {
		file := filepath.Join(dir, s.name+"."+s.format)
		if s.format == "md" || s.format == "html" {
			continue
		}
		if err := os.WriteFile(file, render(t, s.name, s.spec, s.format).Data, 0o600); err != nil {
			t.Fatal(err)
		}
		filters := []string{"pdf", `pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"true"}}`}
		if s.format == "pdf" {
			sameWords(t, file)
			continue
		} else if s.format != "docx" {
			filters = filters[:1]
		}
		for _, filter := range filters {
			cmd := exec.Command("soffice", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--headless", "--convert-to", filter, "--outdir", filepath.Join(dir, "made"), file)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			sameWords(t, filepath.Join(dir, "made", s.name+".pdf"))
		}
	}
}

// sameWords holds the words that we read against those that poppler reads.
func sameWords(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := foreign.Read(data, func() error { return nil })
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	theirs, err := exec.Command("pdftotext", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, w := range strings.Fields(strings.ReplaceAll(d.Markdown(), "|", " ")) {
		ours[w] = true
	}
	lost, all := []string{}, 0
	for _, w := range strings.Fields(string(theirs)) {
		if !strings.ContainsFunc(w, unicode.IsLetter) || strings.Contains(w, "....") || w == "Page" { // marks, axes, contents, feet of pages
			continue
		}
		if all++; !ours[w] {
			lost = append(lost, w)
		}
	}
	if len(lost)*50 > all {
		t.Errorf("%s: %d of %d words are not read: %q", file, len(lost), all, lost)
	}
}
