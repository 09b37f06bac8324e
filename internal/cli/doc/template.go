package doc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/document"
)

// workspace is the directory that the command runs in.
func workspace() fs.FS { return os.DirFS(".") }

// pickTemplate finds a template by name.
func pickTemplate(id string) (*document.Template, error) {
	t, err := document.TemplateOf(workspace(), id)
	if e := fault.From(err); err != nil && e.Where == "" {
		return nil, e.At("--template")
	}
	return t, err
}

func (a *Commands) templateDoc() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "list the templates, their places and where they come from", Args: console.Takes(),
		Long: `List shows every template: what it makes, what it is for, where it comes from
(this workspace or Loom), and its places with an example each.`,
		Example: "  loom doc template list",
		RunE:    func(*cobra.Command, []string) error { return a.listTemplates() },
	}
	return console.Group("template", "templates of documents: list them, take in your own",
		"  loom doc template list\n  loom doc template add ./offer\n  loom doc new plan --template offer --set client=Council",
		list, a.addTemplate())
}

func (a *Commands) addTemplate() *cobra.Command {
	j := &judge{}
	replace := false
	cmd := &cobra.Command{
		Use: "add PATH [flags]", Short: "take a template into the workspace, checked", Args: console.Takes("PATH"),
		Long: `Add checks a template and copies it to .loom/templates/NAME in this workspace. A
template is a directory with a manifest.yaml and a spec.json; PATH names the
directory or its manifest. The manifest has id, title, category, purpose, type
and parameters, each with name, about, example and perhaps default. Each {place}
of the spec must be a parameter. With the examples filled in, the spec must be
sound and a review must find no error, so that legal text is in the library of
clauses. A template of the workspace stands in the place of Loom's of that name.`,
		Example: "  loom doc template add ./offer\n  loom doc template add ./contract --clauses ours.yaml --replace",
		RunE:    func(_ *cobra.Command, args []string) error { return a.takeTemplate(args[0], j, replace) },
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "take the place of the workspace's one of that name")
	cmd.Flags().StringVar(&j.rules, "rules", "", "`FILE` of rules in YAML, in the place of Loom's")
	cmd.Flags().StringVar(&j.clauses, "clauses", "", "`FILE` of approved clauses in YAML, in the place of Loom's")
	return cmd
}

// takeTemplate copies a sound template into the workspace, whole or not at all.
func (a *Commands) takeTemplate(from string, j *judge, replace bool) error {
	if filepath.Base(from) == document.TemplateManifest {
		from = filepath.Dir(from)
	}
	t, files, err := document.ReadTemplate(os.DirFS(from), ".", from)
	if err != nil {
		return a.Problems(err)
	}
	m, err := t.Example()
	if err != nil {
		return err
	}
	report, _, err := j.review(a, m)
	if err != nil {
		return err
	}
	if report.GetBlockCommit() {
		return reviewBlocks(filepath.Join(from, document.TemplateSpec), report)
	}
	to := filepath.Join(filepath.FromSlash(document.TemplatesDir), t.ID)
	if console.Exists(to) && !replace {
		return fault.New("process/output", "the workspace has a template %q already", t.ID).At(to).Want("--replace takes its place")
	}
	if err := placeTemplate(to, files); err != nil {
		return err
	}
	return a.PrintAny(map[string]string{"id": t.ID, "dir": to}, func(w io.Writer) {
		fmt.Fprintf(w, "%s: template %s, %s\n", console.Printable(to), t.ID, summaryOf(report))
	})
}

// placeTemplate writes the files beside their place and moves them there.
func placeTemplate(to string, files map[string][]byte) error {
	fail := func(err error) error {
		return fault.New("usage/argument", "cannot be written").At(to).Because(errors.Unwrap(err))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // the workspace's, and no secret
		return fail(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(fresh)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), data, 0o644); err != nil { //nolint:gosec // as above
			return fail(err)
		}
	}
	if err := errors.Join(os.Chmod(fresh, 0o755), os.RemoveAll(to)); err != nil { //nolint:gosec // as above
		return fail(err)
	}
	if err := os.Rename(fresh, to); err != nil {
		return fail(err)
	}
	return nil
}

func (a *Commands) listTemplates() error {
	all, err := document.TemplatesIn(workspace())
	if err != nil {
		return err
	}
	return a.PrintAny(all, func(w io.Writer) {
		for i, t := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s (%s, %s, %s): %s\n", t.ID, t.Type, console.Printable(t.Category), console.Printable(t.From), console.Printable(t.Purpose))
			for _, p := range t.Parameters {
				fmt.Fprintf(w, "  --set %s=%q: %s\n", p.Name, p.Example, console.Printable(p.About))
			}
		}
	})
}
