package process

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/pattern"
	"github.com/loomrun/loom/processes"
)

// ValidateWorkflow returns the command of that name.
func (a *Commands) ValidateWorkflow() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE|DIR...", Short: "print everything that is wrong with workflow files",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Takes("FILE|DIR")(cmd, args)
			}
			return nil
		},
		Long: `Validate reads workflow files and prints what is wrong with them, all at once,
one FILE:LINE:COL: CODE: sentence a line; it exits 3 then. With --json it prints
a list. It asks no host. Of a directory it takes each NAME/process.yaml, and
files *.yaml and *.yml where there is none; - is standard input. Processes that
nodes name must be among the files or come with Loom.`,
		Example: "  loom workflow validate small-change.yaml\n  loom workflow validate loom-processes",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.validate(args, processes.Builtin(a.RoleSet()))
		},
	}
}

func (a *Commands) validate(args []string, base *processes.Library) error {
	files, err := pattern.WorkflowFiles(args)
	if err != nil {
		return err
	}
	sources := make([]processes.Source, 0, len(files))
	var all []*fault.Error
	for _, file := range files {
		if filepath.Base(file) == pattern.PatternFile {
			e, err := pattern.New(a.Console).ReadPattern(file)
			if err != nil {
				return err
			}
			all = append(all, e.Problems...)
			continue
		}
		s, err := a.source(file)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	for _, r := range processes.Read(base, sources, a.RoleSet()) {
		all = append(all, r.Problems...)
		for _, w := range r.Warnings {
			fmt.Fprintf(a.Err, "warning: %s\n", console.Printable(w.Error()))
		}
	}
	return a.Validated(all, len(files))
}
