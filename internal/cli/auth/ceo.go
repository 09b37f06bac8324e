package auth

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ceo shows the key; with a verb it does more.
func (a *Commands) ceo() *cobra.Command {
	cmd := a.ceoShow()
	cmd.Use = "ceo [COMMAND] [flags]"
	cmd.Long = `Ceo shows the public half of the key that approvals are signed with, and where
the key is kept. The key is outside every data directory; whoever can read the
file can approve. It is the first of the deployment's keys: "loom key" enrols
and revokes others. "enrol" is for when every key is lost.`
	cmd.Example = "  loom auth ceo\n  loom auth ceo enrol --lost-key --key ceo-2.nk"
	cmd.AddCommand(a.ceoShow(), a.ceoEnrol())
	return cmd
}

const keyUsage = "the CEO's key `FILE` (default: in your configuration directory)"

func (a *Commands) ceoShow() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "show [flags]", Short: "show the CEO's public key, making the key if there is none", Args: console.Takes(),
		Long:    "Show prints the public half of the CEO's key, and says where the key is.",
		Example: "  loom auth ceo show",
		RunE:    func(*cobra.Command, []string) error { return a.showKey(path) },
	}
	cmd.Flags().StringVar(&path, "key", "", keyUsage)
	return cmd
}

// showKey shows the public half of a key, which it makes if there is none.
func (a *Commands) showKey(path string) error {
	path, err := keyPath(path)
	if err != nil {
		return err
	}
	key, created, err := ceokey.OpenOrCreate(path)
	if err != nil {
		return err
	}
	return a.Print(&loomv1.HostReply{Ceo: key.Public()}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n", key.Public())
		if created {
			fmt.Fprintf(a.Err, "made %s\n", path)
		} else {
			fmt.Fprintf(a.Err, "kept in %s\n", path)
		}
	})
}

func keyPath(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	return ceokey.DefaultPath()
}

func (a *Commands) ceoEnrol() *cobra.Command {
	var path string
	var lost bool
	cmd := &cobra.Command{
		Use: "enrol --lost-key [flags]", Short: "make another key the first, when all are lost", Args: console.Takes(),
		Long: `Enrol makes a key the CEO's without the old key's word, in the data directory of
a host that is not running: whoever can write there decides. The old key, and
all that it has enrolled, are refused from the next start on; what they have
signed stays signed, and the manifest keeps the key as a former one.

In a cluster, stop all hosts and do it on each, with the same key.`,
		Example: "  loom auth ceo enrol --lost-key --key ceo-2.nk",
		RunE: func(*cobra.Command, []string) error {
			if !lost {
				return fault.New("usage/argument", "the old key is worth nothing afterwards").At("--lost-key").
					Want("say so with --lost-key; with a key at hand: loom key add, loom key revoke")
			}
			return a.enrol(path)
		},
	}
	cmd.Flags().StringVar(&path, "key", "", keyUsage)
	cmd.Flags().BoolVar(&lost, "lost-key", false, "the old key is lost: go on without its word")
	return cmd
}

func (a *Commands) enrol(path string) error {
	path, err := keyPath(path)
	if err != nil {
		return err
	}
	if _, err := datadir.Peek(a.Data); err != nil {
		return err
	}
	key, _, err := ceokey.OpenOrCreate(path)
	if err != nil {
		return err
	}
	dir, err := datadir.Open(a.Data)
	if err != nil {
		return err
	}
	before := dir.Manifest().CEO
	if err := errors.Join(dir.SetCEO(key.Public()), dir.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%s signs in the CEO's name from the next start on, in the place of %s\n", path, strings.TrimSpace(before))
	_, err = fmt.Fprintln(a.Out, key.Public())
	return err
}
