package doc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// renderer is the verb that makes files.
type renderer struct {
	*Commands
	judge
	output, format, style string
	unreviewed, replace   bool
}

func (a *Commands) renderDoc() *cobra.Command {
	r := &renderer{Commands: a}
	cmd := &cobra.Command{
		Use: "render SPEC [flags]", Short: "make a file of a spec: docx, pdf, pptx, xlsx, md or html", Args: console.Takes("SPEC"),
		Long: `Render reviews a spec and makes a file of it, with a record beside it,
FILE.record.json: the hashes of spec and file, and what the format could not
show. The same spec gives the same bytes. A review with errors makes no file and
exits 1. A file that is not the one of its record, because somebody changed it,
is left as it is (exit 5) unless --replace says otherwise. Pictures are read
from below the spec's directory. Of a text a deck can be made, of a workbook or
deck a text.`,
		Example: "  loom doc render plan.spec.json -o plan.docx\n  loom doc render plan.spec.json --format pdf --style house.json",
		RunE:    func(_ *cobra.Command, args []string) error { return r.run(args[0]) },
	}
	cmd.Flags().StringVarP(&r.output, "output", "o", "", "make this `FILE`, also -o (default: the spec's name)")
	cmd.Flags().StringVar(&r.format, "format", "", "`FORMAT`: docx, pdf, pptx, xlsx, md or html (default: what the file is called)")
	cmd.Flags().StringVar(&r.style, "style", "", "`FILE` of styles, for what the spec leaves open")
	cmd.Flags().BoolVar(&r.unreviewed, "unreviewed", false, "make the file whatever the review finds")
	cmd.Flags().BoolVar(&r.replace, "replace", false, "take the place of a file that somebody changed")
	r.flags(cmd)
	return cmd
}

func (r *renderer) run(file string) error {
	m, err := r.spec(file)
	if err != nil {
		return err
	}
	if err := r.names(file, m); err != nil {
		return err
	}
	report, outline, err := r.review(r.Commands, m)
	if err != nil {
		return err
	}
	if report.GetBlockCommit() && !r.unreviewed {
		return reviewBlocks(file, report)
	}
	style, err := r.styles()
	if err != nil {
		return err
	}
	old, state := recordOf(r.output)
	if (state == document.ChangedByHand || state == document.UnknownFile) && !r.replace {
		why := "somebody changed the file since it was made"
		if state == document.UnknownFile {
			why = "there is such a file, and no record that Loom made it"
		}
		return fault.New("document/changed", "%s", why).At(r.output).Want("give another name, or --replace")
	}
	result, err := office.Render(m, r.format, office.Options{Style: style, Carry: document.Canonical(m), Image: r.images(file)})
	if err != nil {
		return fault.From(err).At(cmp.Or(fault.From(err).Where, file))
	}
	record := r.record(m, outline, report, result, old)
	if err := r.writeArtifact(r.output, result.Data); err != nil {
		return err
	}
	if err := r.writeArtifact(document.RecordName(r.output), document.JSON(record)); err != nil {
		return err
	}
	for _, d := range result.Downgrades {
		fmt.Fprintf(r.Err, "note: %s\n", console.Printable(d))
	}
	if r.JSON {
		return r.printArtifact(record)
	}
	fmt.Fprintf(r.Out, "%s: %s, %s\n", console.Printable(r.output), console.Count(len(document.Nodes(m)), "node"), summaryOf(report))
	return nil
}

// names completes the names of the output and its format.
func (r *renderer) names(file string, m proto.Message) error {
	standard := map[string]string{"document": "docx", "sheet": "xlsx", "presentation": "pptx"}[document.KindOf(m).Name]
	if r.format == "" && r.output != "" {
		if r.format = strings.TrimPrefix(filepath.Ext(r.output), "."); r.format == "" {
			return fault.New("usage/argument", "the name does not say which format").At("--output").Got(r.output).Want("name it .docx, .pdf, .pptx, .xlsx, .md or .html, or give --format")
		}
	}
	if ext := strings.TrimPrefix(filepath.Ext(r.output), "."); slices.Contains(office.Formats, ext) && ext != r.format {
		return fault.New("usage/argument", "the name says another format than --format").At("--output").Got(r.output).Want("name it .%s, or leave --format out", r.format)
	}
	r.format = cmp.Or(r.format, standard)
	if r.output == "-" {
		return fault.New("usage/argument", "a file has a record beside it, and so a name").At("--output")
	}
	if r.output == "" {
		if file == "-" {
			return fault.New("usage/argument", "what is made of standard input needs a name").At("--output")
		}
		base := strings.TrimSuffix(strings.TrimSuffix(file, filepath.Ext(file)), ".spec")
		r.output = base + "." + r.format
		if r.output == file {
			return fault.New("usage/argument", "the spec's file would be written over").At("--output").Want("give another name")
		}
	}
	return nil
}

// styles reads a file of styles: the part "styles" of a spec, in a file of its own.
func (r *renderer) styles() (*loomv1.DocumentStyles, error) {
	if r.style == "" {
		return nil, nil //nolint:nilnil // none given
	}
	data, err := r.readDocument(r.style)
	if err != nil {
		return nil, err
	}
	return document.ReadStyles(r.style, data)
}

// images reads pictures from below the spec's directory, and from nowhere else.
func (r *renderer) images(file string) func(string) ([]byte, error) {
	const most = 20 << 20
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		if err == nil && len(data) > most {
			err = fmt.Errorf("more than %d MiB", most>>20)
		}
		return data, err
	}
}

// record is the record of the file that was made in the place of another, if there was one.
func (r *renderer) record(m proto.Message, outline *loomv1.PlanningOutline, report *loomv1.ReviewReport, result *office.Result, old *loomv1.ArtifactRecord) *loomv1.ArtifactRecord {
	making := document.Making{
		Artifact: filepath.Base(r.output), Format: r.format, Spec: m, Outline: outline, Report: report, Data: result.Data,
		Downgrades: result.Downgrades, At: time.Now().UTC().Format(time.RFC3339),
	}
	if old != nil {
		making.Before, _ = r.spec(r.output) //nolint:errcheck // one that does not carry its spec is made anew
	}
	record := document.NewRecord(making)
	record.Written = old.GetWritten() // it stands beside the file as before
	return record
}

// recordOf reads a file's record, if there is one, and tells how the file stands to it.
// A file that cannot be read is somebody's.
func recordOf(file string) (*loomv1.ArtifactRecord, document.State) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, document.UnknownFile
	}
	record, _ := os.ReadFile(document.RecordName(file)) //nolint:errcheck // one that cannot be read vouches for nothing
	return document.StateOf(data, record)
}
