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

// judge is what a spec is reviewed with, as flags give it.
type judge struct{ outlineFile, rules, clauses string }

func (j *judge) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.outlineFile, "outline", "", "`FILE` of the outline that the spec was written from")
	cmd.Flags().StringVar(&j.rules, "rules", "", "`FILE` of rules in YAML, in the place of Loom's")
	cmd.Flags().StringVar(&j.clauses, "clauses", "", "`FILE` of approved clauses in YAML, in the place of Loom's")
}

// review holds a spec against the rules; the outline is nil if none was given.
func (j *judge) review(a *Commands, m proto.Message) (*loomv1.ReviewReport, *loomv1.PlanningOutline, error) {
	var r document.Review
	var err error
	if j.outlineFile != "" {
		if r.Outline, err = a.readOutline(j.outlineFile); err != nil {
			return nil, nil, err
		}
	}
	if j.rules != "" {
		data, err := a.ReadFile(j.rules)
		if err != nil {
			return nil, nil, err
		}
		if r.Rules, err = document.ParseRules(j.rules, data); err != nil {
			return nil, nil, err
		}
	}
	if j.clauses != "" {
		data, err := a.ReadFile(j.clauses)
		if err != nil {
			return nil, nil, err
		}
		if r.Clauses, err = document.ParseClauses(j.clauses, data); err != nil {
			return nil, nil, err
		}
	}
	return r.Run(m), r.Outline, nil
}

// reviewBlocks is the refusal of a spec whose review found errors: the first, and how many
// there are.
func reviewBlocks(file string, r *loomv1.ReviewReport) error {
	errors, first := 0, (*loomv1.ReviewFinding)(nil)
	for _, f := range r.Findings {
		if f.Severity == "error" {
			if errors++; first == nil {
				first = f
			}
		}
	}
	where := file
	if first.Path != "" {
		where += ": " + first.Path
	}
	return fault.New("document/blocked", "the review found %s: %s", console.Count(errors, "error"), first.Message).At(where).Want("see \"loom doc review\", or --unreviewed")
}

func summaryOf(r *loomv1.ReviewReport) string {
	n := map[string]int{}
	for _, f := range r.Findings {
		n[f.Severity]++
	}
	if len(r.Findings) == 0 {
		return "nothing found"
	}
	var parts []string
	for _, s := range [][2]string{{"error", "error"}, {"warn", "warning"}, {"info", "note"}} {
		if n[s[0]] > 0 {
			parts = append(parts, console.Count(n[s[0]], s[1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *Commands) reviewDoc() *cobra.Command {
	j := &judge{}
	var patches, output string
	cmd := &cobra.Command{
		Use: "review SPEC [flags]", Short: "hold a spec against rules: structure, text, numbers, references", Args: console.Takes("SPEC"),
		Long: `Review holds a spec, or the spec in a file that Loom made, against rules, and
prints what it found: where, how severe, and the patch that mends it, if it can
be mended without a writer. It exits 1 if there is an error. The same spec and
rules give the same review. --patches writes the patches for "loom doc patch",
--json and -o the whole report.`,
		Example: "  loom doc review plan.spec.json --outline plan.outline.json\n  loom doc review plan.spec.json --patches fixes.json",
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.spec(args[0])
			if err != nil {
				return err
			}
			r, _, err := j.review(a, m)
			if err != nil {
				return err
			}
			if patches != "" {
				if len(r.RecommendedPatches) == 0 {
					fmt.Fprintln(a.Err, "no patches are recommended")
				} else if err := a.writeArtifact(patches, document.JSON(&loomv1.PatchSet{Patches: r.RecommendedPatches})); err != nil {
					return err
				}
			}
			if output != "" {
				if err := a.writeArtifact(output, document.JSON(r)); err != nil {
					return err
				}
			}
			if a.JSON {
				err = a.printArtifact(r)
			} else {
				reviewLines(a.Out, args[0], r)
			}
			if err == nil && r.GetBlockCommit() {
				return console.ExitError{Status: fault.WorkFailed}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&patches, "patches", "", "write the recommended patches to this `FILE`")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the report to this `FILE`, also -o")
	j.flags(cmd)
	return cmd
}

func reviewLines(w io.Writer, file string, r *loomv1.ReviewReport) {
	for _, f := range r.Findings {
		where := file
		if f.Path != "" {
			where += ": " + f.Path
		}
		mend := ""
		if f.Patch != "" {
			mend = " (" + f.Patch + ")"
		}
		fmt.Fprintf(w, "%s: %s: %s: %s%s\n", console.Printable(where), f.Severity, f.Rule, console.Line(f.Message, 400), mend)
	}
	read := r.Checks.Readability
	switch {
	case read.GetNotJudged() != "":
		fmt.Fprintf(w, "readability: not judged: %s\n", read.NotJudged)
	case read.Score != nil:
		fmt.Fprintf(w, "readability: %.1f, target %.0f, %.1f words a sentence\n", read.GetScore(), read.GetTarget(), read.GetSentenceLength())
	}
	fmt.Fprintf(w, "%s\n", summaryOf(r))
}

func (a *Commands) patchDoc() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "patch SPEC PATCHES [flags]", Short: "carry out patches on a spec", Args: console.Takes("SPEC", "PATCHES"),
		Long: `Patch carries out a set of patches, or those that a review recommends, one after
the other, a person's first, and writes the spec. One whose target is not there,
or after which the spec would not be valid, is refused and told; the others go
on, and the command exits 1. Actions are replace, append, remove, rename, move
and normalize; targets are as sections[2].table.rows[5][3] or /sections/2/table.`,
		Example: "  loom doc patch plan.spec.json fixes.json\n  loom doc patch plan.docx fixes.json -o plan.spec.json",
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.spec(args[0])
			if err != nil {
				return err
			}
			data, err := a.readDocument(args[1])
			if err != nil {
				return err
			}
			patches, err := document.ReadPatches(args[1], data)
			if err != nil {
				return err
			}
			if output == "" && !strings.HasSuffix(args[0], ".json") {
				return fault.New("usage/argument", "a patched spec is no such file").At("--output").Got(args[0]).Want("give -o SPEC.json")
			}
			changed, report := document.Apply(m, patches)
			to := args[0]
			if output != "" {
				to = output
			}
			if report.Applied > 0 || output != "" {
				if err := a.writeArtifact(to, document.JSON(changed)); err != nil {
					return err
				}
			}
			if err := a.patchReport(report); err != nil {
				return err
			}
			if report.Refused > 0 {
				return console.ExitError{Status: fault.WorkFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE`, also -o (default: the spec's own)")
	return cmd
}

func (a *Commands) patchReport(r *loomv1.PatchReport) error {
	if a.JSON {
		_, err := fmt.Fprintf(a.Out, "%s\n", console.Escaped(document.Canonical(r)))
		return err
	}
	for i, p := range r.Results {
		name := p.Id
		if name == "" {
			name = fmt.Sprintf("%d", i+1)
		}
		if p.Applied {
			fmt.Fprintf(a.Out, "%s: %s %s: done\n", console.Printable(name), p.Action, console.Printable(p.Target))
		} else {
			fmt.Fprintf(a.Out, "%s: %s %s: refused: %s [%s]\n", console.Printable(name), console.Printable(p.Action), console.Printable(p.Target), console.Line(p.Message, 400), p.Code)
		}
	}
	fmt.Fprintf(a.Out, "%d done, %d refused\n", r.Applied, r.Refused)
	return nil
}

func (a *Commands) diffDoc() *cobra.Command {
	var patches string
	cmd := &cobra.Command{
		Use: "diff BEFORE AFTER [flags]", Short: "what differs between two specs, and the patches between them", Args: console.Takes("BEFORE", "AFTER"),
		Long: `Diff compares two specs, or the specs in files that Loom made: which nodes were
added, removed and edited, the share of changed nodes, and whether the change is
large enough to make the file anew (bulk: above 0.4, or more than 5 elements of
structure) or small (granular). --patches writes patches that lead from the one
to the other.`,
		Example: "  loom doc diff plan.docx plan.spec.json --patches changes.json",
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := a.spec(args[0])
			if err != nil {
				return err
			}
			after, err := a.spec(args[1])
			if err != nil {
				return err
			}
			list, err := document.Diff(before, after)
			if err != nil {
				return err
			}
			if patches != "" && len(list) > 0 {
				if err := a.writeArtifact(patches, document.JSON(&loomv1.PatchSet{Patches: list})); err != nil {
					return err
				}
			}
			c := document.Compare(before, after)
			return a.PrintAny(c, func(w io.Writer) {
				for _, k := range []struct {
					mark string
					ids  []string
				}{{"-", c.Removed}, {"+", c.Added}, {"~", c.Edited}} {
					for _, id := range k.ids {
						fmt.Fprintf(w, "%s %s\n", k.mark, console.Printable(id))
					}
				}
				fmt.Fprintf(w, "%d of %s changed (%.2f), %d structural: %s, patches: %d\n", c.Changed, console.Count(c.Total, "node"), c.Ratio, c.Structural, c.Mode, len(list))
			})
		},
	}
	cmd.Flags().StringVar(&patches, "patches", "", "write the patches to this `FILE`")
	return cmd
}
