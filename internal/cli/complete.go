package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/mcp"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// completeAll lets the shell complete ids and names, by the word that stands
// for them in a command's usage.
func completeAll(a *console.Console, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeAll(a, sub)
	}
	completeFlags(a, cmd)
	if cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 {
		return
	}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if list := lister(a, strings.Trim(word, "[]")); list != nil {
			cmd.ValidArgsFunction = forFirst(list)
			break
		}
	}
}

// completeFlags lets the shell complete what flags take, by their names.
func completeFlags(a *console.Console, cmd *cobra.Command) {
	for name, list := range map[string]func(cmd *cobra.Command) []string{
		"project":   func(cmd *cobra.Command) []string { return a.Offered(cmd, projectIDs) },
		"bead":      func(cmd *cobra.Command) []string { return a.Offered(cmd, beadIDs) },
		"execution": func(cmd *cobra.Command) []string { return a.Offered(cmd, executionIDs) },
		"process":   func(cmd *cobra.Command) []string { return processNames(a, cmd) },
		"role":      func(*cobra.Command) []string { return a.RoleSet().Names() },
		"kind":      func(*cobra.Command) []string { return notice.Kinds() },
		"model":     func(*cobra.Command) []string { return modelSpecs() },
	} {
		f := cmd.Flags().Lookup(name)
		if _, has := cmd.GetFlagCompletionFunc(name); f == nil || has || f.Value.Type() != "string" && name != "kind" {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return list(cmd), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// processNames are those that come with Loom and those that projects have, once.
func processNames(a *console.Console, cmd *cobra.Command) []string {
	names := processes.Builtin(a.RoleSet()).Names()
	names = append(names, a.Offered(cmd, func(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
		v, err := c.Workflow(ctx, q)
		if err != nil {
			return nil
		}
		for _, d := range v.Definitions {
			list = append(list, d.GetName())
		}
		return list
	})...)
	slices.Sort(names)
	return slices.Compact(names)
}

// modelSpecs are the scripted models, and those whose prices are known.
func modelSpecs() (list []string) {
	for _, name := range scripted.Names() {
		list = append(list, "scripted:"+name)
	}
	return append(list, price.Known()...)
}

// forFirst offers something for the first word alone.
func forFirst(list func(cmd *cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

// lister returns what lists candidates for a word of a usage, or nil.
func lister(a *console.Console, word string) func(cmd *cobra.Command) []string {
	switch word {
	case "BEAD":
		return func(cmd *cobra.Command) []string { return a.Offered(cmd, beadIDs) }
	case "EXECUTION|BEAD":
		return func(cmd *cobra.Command) []string { return a.Offered(cmd, executionIDs) }
	case "APPROVAL":
		return func(cmd *cobra.Command) []string { return a.Offered(cmd, approvalIDs) }
	case "KEY":
		return func(cmd *cobra.Command) []string { return a.Offered(cmd, keyNames) }
	case "PROJECT":
		return func(cmd *cobra.Command) []string { return a.Offered(cmd, projectIDs) }
	case "SERVER":
		return mcp.ServerNames
	case "ROLE", "ROLE=N":
		return func(*cobra.Command) []string { return a.RoleSet().Names() }
	}
	return nil
}

func beadIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Bead(ctx, q)
	if err != nil {
		return nil
	}
	for _, b := range v.Beads {
		list = append(list, b.Id+"\t"+console.Line(b.Goal, 60))
	}
	return list
}

func executionIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Execution(ctx, q)
	if err != nil {
		return nil
	}
	for _, x := range v.Executions {
		list = append(list, x.Id)
	}
	return list
}

func approvalIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Inbox(ctx, q)
	if err != nil {
		return nil
	}
	for _, p := range v.Approvals {
		list = append(list, p.Id+"\t"+console.Line(p.Question, 60))
	}
	return list
}

// keyNames are the keys that hold.
func keyNames(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Key(ctx, q)
	if err != nil {
		return nil
	}
	for _, name := range keyring.Live(v.Keys) {
		if !slices.Contains(list, name) { // each project has it
			list = append(list, name)
		}
	}
	return list
}

func projectIDs(ctx context.Context, c *client.Client, _ *loomv1.Query) []string {
	h, err := c.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return nil
	}
	return h.Projects
}
