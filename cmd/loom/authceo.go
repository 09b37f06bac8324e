package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/ceokey"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ceo shows the key; as a group it also has the verbs about it.
func (a *app) ceo() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "ceo [flags]", Short: "show the CEO's public key, making the key if there is none", Args: takes(),
		Long:    "Ceo shows the public half of the key that approvals are signed with, and where\nthe key is kept. The key is outside every data directory; whoever can read the\nfile can approve.",
		Example: "  loom auth ceo",
		RunE:    func(*cobra.Command, []string) error { return a.showKey(path) },
	}
	cmd.Flags().StringVar(&path, "key", "", keyUsage)
	return cmd
}

const keyUsage = "the CEO's key `FILE` (default: in your configuration directory)"

// showKey shows the public half of a key, which it makes if there is none.
func (a *app) showKey(path string) error {
	if path == "" {
		var err error
		if path, err = ceokey.DefaultPath(); err != nil {
			return err
		}
	}
	key, created, err := ceokey.OpenOrCreate(path)
	if err != nil {
		return err
	}
	return a.print(&loomv1.HostReply{Ceo: key.Public()}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n", key.Public())
		if created {
			fmt.Fprintf(a.err, "made %s\n", path)
		} else {
			fmt.Fprintf(a.err, "kept in %s\n", path)
		}
	})
}
