package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of an office program is read by what it says, in lines like any other; an
// archive that is none is no text.
func TestDOC06_FileReadReadsFilesOfOfficePrograms(t *testing.T) {
	files := map[string]string{"other.zip": "PK\x03\x04\x00\x00 nothing of an office"}
	for _, name := range []string{"pandoc.docx", "pandoc.pptx", "libreoffice.xlsx"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "craft", "foreign", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	s, _ := workspace(t, files)
	for name, want := range map[string]string{
		"pandoc.docx": "| Gull | 9000 |", "pandoc.pptx": "> Say hello.", "libreoffice.xlsx": "| Gull | 9000 | large, old |", "other.zip": "the file is not text; it has 27 bytes",
	} {
		if r := do(t, s, "file_read", args{"path": name}); !strings.Contains(r.Output, want) {
			t.Errorf("%s: %q, want %q", name, r.Output, want)
		}
	}
	r := do(t, s, "file_read", args{"path": "pandoc.docx", "offset": 3, "limit": 1})
	if !strings.Contains(r.Output, "3\t# Summary") || strings.Contains(r.Output, "Ferry") {
		t.Errorf("a line of it: %q", r.Output)
	}
}
