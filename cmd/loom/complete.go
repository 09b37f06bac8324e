package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// completeWithin is how long somebody who pressed a key waits.
	completeWithin = 2 * time.Second
	// completions is how many ids are offered at most: the newest.
	completions = 100
)

// completeAll lets the shell complete ids and names, by the word that stands
// for them in a command's usage.
func (a *app) completeAll(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		a.completeAll(sub)
	}
	if cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 {
		return
	}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if list := a.lister(strings.Trim(word, "[]")); list != nil {
			cmd.ValidArgsFunction = forFirst(list)
			break
		}
	}
	if f := cmd.Flags().Lookup("project"); f != nil && f.Value.Type() == "string" {
		_ = cmd.RegisterFlagCompletionFunc("project", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.offered(cmd, projectIDs), cobra.ShellCompDirectiveNoFileComp
		})
	}
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
func (a *app) lister(word string) func(cmd *cobra.Command) []string {
	switch word {
	case "BEAD":
		return func(cmd *cobra.Command) []string { return a.offered(cmd, beadIDs) }
	case "EXECUTION|BEAD":
		return func(cmd *cobra.Command) []string { return a.offered(cmd, executionIDs) }
	case "APPROVAL":
		return func(cmd *cobra.Command) []string { return a.offered(cmd, approvalIDs) }
	case "SERVER":
		return serverNames
	case "ROLE", "ROLE=N":
		return func(*cobra.Command) []string { return a.roleSet().Names() }
	}
	return nil
}

// offered asks the host. One that does not answer offers nothing: a message
// would stand in the middle of what is typed.
func (a *app) offered(cmd *cobra.Command, ask func(ctx context.Context, c *client.Client, q *loomv1.Query) []string) (list []string) {
	if a.configure(cmd) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	q := &loomv1.Query{Limit: completions}
	if f := cmd.Flags().Lookup("project"); f != nil && f.Value.Type() == "string" {
		q.Project = f.Value.String()
	}
	_ = a.with(ctx, func(c *client.Client) error {
		list = ask(ctx, c, q)
		return nil
	})
	return list
}

func beadIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Look(ctx, "bead", q)
	if err != nil {
		return nil
	}
	for _, b := range v.Beads {
		list = append(list, b.Id+"\t"+line(b.Goal, 60))
	}
	return list
}

func executionIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Look(ctx, "execution", q)
	if err != nil {
		return nil
	}
	for _, x := range v.Executions {
		list = append(list, x.Id)
	}
	return list
}

func approvalIDs(ctx context.Context, c *client.Client, q *loomv1.Query) (list []string) {
	v, err := c.Look(ctx, "inbox", q)
	if err != nil {
		return nil
	}
	for _, p := range v.Approvals {
		list = append(list, p.Id+"\t"+line(p.Question, 60))
	}
	return list
}

func projectIDs(ctx context.Context, c *client.Client, _ *loomv1.Query) []string {
	h, err := c.Host(ctx)
	if err != nil {
		return nil
	}
	return h.Projects
}
