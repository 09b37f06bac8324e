//go:build libreoffice && linux

package office

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/loomrun/loom/internal/core/document"
)

// The same content as a docx, by Loom and by pandoc, one after the other in one run.
// Loom's part is the writer in this process; pandoc's a process that reads Markdown.
//
//	go test -tags libreoffice ./internal/craft/office -run none -bench Beside -benchtime 5x
func BenchmarkDOC06_BesidePandoc(b *testing.B) {
	if _, err := exec.LookPath("pandoc"); err != nil {
		b.Fatalf("pandoc is not installed: %v", err)
	}
	d := large()
	md, err := Render(d, "md", Options{})
	if err != nil {
		b.Fatal(err)
	}
	from := filepath.Join(b.TempDir(), "large.md")
	if err := os.WriteFile(from, md.Data, 0o600); err != nil {
		b.Fatal(err)
	}
	data := document.JSON(d)
	b.Run("loom", func(b *testing.B) {
		size := 0
		for b.Loop() {
			m, err := document.Read("", data, "document")
			if err != nil {
				b.Fatal(err)
			}
			r, err := Render(m, "docx", Options{Carry: data})
			if err != nil {
				b.Fatal(err)
			}
			size = len(r.Data)
		}
		b.ReportMetric(float64(size)/1024, "KiB-file")
	})
	b.Run("pandoc", func(b *testing.B) {
		to := filepath.Join(b.TempDir(), "large.docx")
		most := int64(0)
		for b.Loop() {
			cmd := exec.Command("pandoc", "--from", "gfm", "--toc", from, "-o", to)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("pandoc: %v\n%s", err, out)
			}
			if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				most = max(most, use.Maxrss)
			}
		}
		info, err := os.Stat(to)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/1024, "KiB-file")
		b.ReportMetric(float64(most)/1024, "MiB-rss")
	})
}
