package doc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
)

// Doc returns the command of that name.
func (a *Commands) Doc() *cobra.Command {
	return console.Group("doc", "documents: from a spec to docx, pdf, pptx, xlsx, md and html",
		"  loom doc new plan --template proposal --set client=Council\n  loom doc review plan.spec.json\n  loom doc render plan.spec.json -o plan.docx",
		a.newDoc(), a.renderDoc(), a.reviewDoc(), a.patchDoc(), a.diffDoc(), a.openDoc(), a.validateDoc(), a.schemaDoc(), a.templateDoc())
}

// maxDocument is the largest file of an office that is read.
const maxDocument = 64 << 20

// readDocument reads a file of a document, or standard input for "-".
func (a *Commands) readDocument(name string) ([]byte, error) {
	r, err := a.Input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
	}
	if len(data) > maxDocument {
		return nil, fault.New("document/limit", "the file has more than %d MiB", maxDocument>>20).At(name)
	}
	return data, nil
}

// artifact reads an artifact: JSON, or a file that Loom made of a spec, which has the
// spec in it.
func (a *Commands) artifact(name, kind string) (proto.Message, error) {
	data, err := a.readDocument(name)
	if err != nil {
		return nil, err
	}
	if ext := strings.TrimPrefix(filepath.Ext(name), "."); slices.Contains(office.Formats, ext) {
		if data, err = office.Open(data); err != nil {
			return nil, fault.From(err).At(name)
		}
	}
	return document.Read(name, data, kind)
}

// spec reads a spec: what files are made of.
func (a *Commands) spec(name string) (proto.Message, error) {
	m, err := a.artifact(name, "")
	if err != nil {
		return nil, err
	}
	if k := document.KindOf(m); !k.Spec {
		return nil, fault.New("document/invalid", "it is a %s and not a spec", k.Name).At(name).Want("a document, sheet or presentation")
	}
	return m, nil
}

// writeArtifact writes bytes to a file, beside it first, so that it is never half
// there; "-" is standard output.
func (a *Commands) writeArtifact(name string, data []byte) error {
	if name == "-" {
		_, err := a.Out.Write(data)
		return err
	}
	fail := func(err error) error {
		return fault.New("usage/argument", "cannot be written").At(name).Because(errors.Unwrap(err))
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".loom-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fail(err)
	}
	return nil
}

// printArtifact writes an artifact as one line of JSON.
func (a *Commands) printArtifact(m proto.Message) error {
	_, err := fmt.Fprintf(a.Out, "%s\n", console.Escaped(document.Canonical(m)))
	return err
}

func (a *Commands) validateDoc() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "validate FILE... [flags]", Short: "print everything that is wrong with artifacts of documents",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Takes("FILE")(cmd, args)
			}
			return nil
		},
		Long: `Validate reads outlines, specs, reviews, patches and records in JSON, and files
that Loom made of a spec, and prints what is wrong with them, all at once, one
FILE: PATH: CODE: sentence a line; it exits 3 then. With --json it prints a
list. Which artifact a file is, its keys show, or --kind says. What a spec says
is for "loom doc review" to judge.`,
		Example: "  loom doc validate plan.spec.json\n  loom doc validate patches.json --kind patches",
		RunE: func(_ *cobra.Command, args []string) error {
			if kind != "" {
				if _, err := document.KindNamed(kind); err != nil {
					return fault.From(err).At("--kind")
				}
			}
			var all []*fault.Error
			for _, name := range args {
				_, err := a.artifact(name, kind)
				if e := fault.From(err); e != nil {
					if fault.Status(e) != fault.Invalid && fault.Status(e) != fault.Limit {
						return err
					}
					all = append(append(all, e), e.More...)
				}
			}
			if a.JSON {
				if err := a.ProblemList(all); err != nil {
					return err
				}
			} else {
				console.ProblemLines(a.Out, all)
				fmt.Fprintf(a.Err, "%s, %s\n", console.Count(len(args), "file"), console.Count(len(all), "problem"))
			}
			if len(all) > 0 {
				return console.ExitError{Status: fault.Invalid}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "`KIND` of artifact: "+strings.Join(document.Kinds(), ", "))
	return cmd
}

func (a *Commands) schemaDoc() *cobra.Command {
	return &cobra.Command{
		Use: "schema [KIND]", Short: "print the JSON Schema of an artifact", Args: console.Takes("[KIND]"),
		Long: `Schema prints the JSON Schema (draft 2020-12) of an artifact, for editors and
for models that write one; without KIND it lists the artifacts. What one value
says of another, such as rows under headers, "loom doc validate" checks besides.`,
		Example: "  loom doc schema document > document.schema.json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.PrintAny(document.Kinds(), func(w io.Writer) {
					for _, k := range document.Kinds() {
						fmt.Fprintln(w, k)
					}
				})
			}
			text, err := document.Schema(args[0])
			if err != nil {
				return fault.From(err).At("KIND")
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
}
