package doc

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/foreign"
)

func (a *Commands) openDoc() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "open FILE [flags]", Short: "get the spec, or the text, out of a file of an office program", Args: console.Takes("FILE"),
		Long: `Open reads a docx, xlsx, pptx or html that "loom doc render" made and prints the
spec that is in it. What was changed by hand in the file since is not in the
spec: a record beside the file shows whether something was.

Of a docx, xlsx or pptx that another program made, and of any pdf, it prints
what the file says, as Markdown: headings, lists, tables, footnotes and notes,
without looks; with --json as a list of blocks. Other files have no spec.`,
		Example: "  loom doc open plan.docx -o plan.spec.json\n  loom doc open contract-of-others.docx -o contract.md",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.open(cmd.Context(), args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE`, also -o (default: standard output)")
	return cmd
}

func (a *Commands) open(ctx context.Context, file, output string) error {
	m, err := a.spec(file)
	if fault.Code(err) == "document/foreign" && slices.Contains(foreign.Formats, strings.TrimPrefix(filepath.Ext(file), ".")) {
		return a.openForeign(ctx, file, output)
	}
	if err != nil {
		return err
	}
	if _, state := recordOf(file); state == document.ChangedByHand {
		fmt.Fprintf(a.Err, "warning: %s was changed since it was made; the spec does not have that\n", console.Printable(file))
	}
	if output == "" && a.JSON {
		return a.printArtifact(m)
	}
	if output == "" {
		output = "-"
	}
	return a.writeArtifact(output, document.JSON(m))
}

// openForeign prints what a file says that another program made.
func (a *Commands) openForeign(ctx context.Context, file, output string) error {
	data, err := a.readDocument(file)
	if err != nil {
		return err
	}
	d, err := foreign.Read(data, ctx.Err)
	if err != nil {
		return fault.From(err).At(file)
	}
	fmt.Fprintf(a.Err, "note: %s has no spec of Loom's; this is what it says\n", console.Printable(file))
	text := []byte(d.Markdown())
	if a.JSON {
		if text, err = json.Marshal(d); err != nil {
			return err
		}
		text = append(console.Escaped(text), '\n')
	}
	if output == "" || output == "-" {
		if !a.JSON {
			text = []byte(console.Printable(string(text)))
		}
		output = "-"
	}
	return a.writeArtifact(output, text)
}
