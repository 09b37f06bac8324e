//go:build libreoffice

package office

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Others open what we wrote: LibreOffice makes pages of every package, and poppler
// reads the text of every page that we made.
//
//	go test -tags libreoffice ./internal/craft/office -run Others -out DIR
func TestDOC06_OthersOpenTheFiles(t *testing.T) {
	dir := t.TempDir()
	if *out != "" {
		dir = *out
	}
	for _, s := range samples(t) {
		file := filepath.Join(dir, s.name+"-"+s.format+"."+s.format)
		if err := os.WriteFile(file, render(t, s.name, s.spec, s.format).Data, 0o644); err != nil {
			t.Fatal(err)
		}
		pages := file
		switch s.format {
		case "md", "html":
			continue
		case "pdf":
		default:
			cmd := exec.Command("soffice", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--headless", "--convert-to", "pdf", "--outdir", dir, file)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			pages = strings.TrimSuffix(file, "."+s.format) + ".pdf"
		}
		text, err := exec.Command("pdftotext", "-layout", pages, "-").Output()
		if err != nil {
			t.Fatalf("%s: %v", pages, err)
		}
		for _, want := range map[string][]string{
			"full": {"Annual report of the ferry", "12,000", "Harbour island"}, "document": {"Move of the northern depot", "Transport", "2026-03-20"},
			"sheet": {"Lorries", "$7,300.00"}, "deck": {"What we ask for", "Packing"},
		}[s.name] {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s: others do not read %q", pages, want)
			}
		}
	}
}
