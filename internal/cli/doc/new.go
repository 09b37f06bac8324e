package doc

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// beginner is the verb that begins a document.
type beginner struct {
	*Commands
	template, outline, goal, kind string
	set                           []string
	templates                     bool
}

func (a *Commands) newDoc() *cobra.Command {
	b := &beginner{Commands: a}
	cmd := &cobra.Command{
		Use: "new [NAME] [flags]", Short: "begin a document of a template, an outline or a goal", Args: console.Takes("[NAME]"),
		Long: `New writes NAME.spec.json: of a template, whose places --set fills; of an
outline, with a section for each of its own; or of a goal, of which it makes a
minimal outline first, NAME.outline.json. What is to be written is marked, and
found by "loom doc review". It overwrites nothing. --templates lists templates,
and "loom doc template add" takes in further ones.`,
		Example: "  loom doc new --templates\n  loom doc new plan --template memo --set subject=Hours --set to=All\n  loom doc new plan --outline plan.outline.json\n  loom doc new plan --type docx --goal \"Compare three vector stores\"",
		RunE:    func(_ *cobra.Command, args []string) error { return b.run(args) },
	}
	cmd.Flags().StringVar(&b.template, "template", "", "`NAME` of a template")
	cmd.Flags().StringArrayVar(&b.set, "set", nil, "`NAME=VALUE` of a template's place; repeat it")
	cmd.Flags().StringVar(&b.outline, "outline", "", "`FILE` of an outline")
	cmd.Flags().StringVar(&b.goal, "goal", "", "what the document is for, in `WORDS`")
	cmd.Flags().StringVar(&b.kind, "type", "docx", "`TYPE` of a goal's document: docx, xlsx, pptx, pdf, md or html")
	cmd.Flags().BoolVar(&b.templates, "templates", false, "list the templates and their places")
	return cmd
}

func (b *beginner) run(args []string) error {
	if b.templates {
		return b.listTemplates()
	}
	if len(args) == 0 {
		return fault.New("usage/argument", "NAME is missing").Want("see \"loom doc new --help\"")
	}
	given := 0
	for _, s := range []string{b.template, b.outline, b.goal} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return fault.New("usage/argument", "a document begins with one of --template, --outline and --goal")
	}
	if len(b.set) > 0 && b.template == "" {
		return fault.New("usage/argument", "only templates have places").At("--set")
	}
	files := map[string]string{"spec": args[0] + ".spec.json"}
	m, o, err := b.begin()
	if err != nil {
		return err
	}
	if o != nil {
		files["outline"] = args[0] + ".outline.json"
		if err := console.WriteNew(files["outline"], document.JSON(o)); err != nil {
			return err
		}
	}
	if err := console.WriteNew(files["spec"], document.JSON(m)); err != nil {
		return err
	}
	return b.PrintAny(files, func(w io.Writer) {
		if o != nil {
			fmt.Fprintln(w, files["outline"])
		}
		fmt.Fprintln(w, files["spec"])
	})
}

// begin makes the spec, and the outline if it is a goal's.
func (b *beginner) begin() (proto.Message, *loomv1.PlanningOutline, error) {
	switch {
	case b.template != "":
		values := map[string]string{}
		for _, s := range b.set {
			name, value, ok := strings.Cut(s, "=")
			if !ok || name == "" {
				return nil, nil, fault.New("usage/argument", "it is not NAME=VALUE").At("--set").Got(s)
			}
			values[name] = value
		}
		t, err := pickTemplate(b.template)
		if err != nil {
			return nil, nil, err
		}
		m, err := t.Fill(values)
		return m, nil, err
	case b.outline != "":
		o, err := b.readOutline(b.outline)
		if err != nil {
			return nil, nil, err
		}
		return document.Skeleton(o), nil, nil
	}
	o := document.Minimal(b.kind, b.goal)
	if _, err := document.Read("", document.JSON(o), "outline"); err != nil {
		return nil, nil, fault.From(err).At("--type")
	}
	return document.Skeleton(o), o, nil
}

// readOutline reads the outline of a file.
func (a *Commands) readOutline(name string) (*loomv1.PlanningOutline, error) {
	m, err := a.artifact(name, "outline")
	if err != nil {
		return nil, err
	}
	return m.(*loomv1.PlanningOutline), nil //nolint:errcheck,forcetypeassert // the kind says so
}
