package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ceo shows the key; with a verb it does more.
func (a *Commands) ceo() *cobra.Command {
	cmd := a.ceoShow()
	cmd.Use = "ceo [COMMAND] [flags]"
	cmd.Long = `Ceo shows the public half of the key that approvals are signed with, and where
the key is kept. The key is outside every data directory; whoever can read the
file can approve. There is one CEO: "rotate" replaces the key by an order that
the key itself has signed; "enrol" is for when it is lost.`
	cmd.Example = "  loom auth ceo\n  loom auth ceo rotate --reason \"a year has passed\""
	cmd.AddCommand(a.ceoShow(), a.ceoRotate(), a.ceoEnrol())
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

func (a *Commands) ceoRotate() *cobra.Command {
	var path, reason string
	cmd := &cobra.Command{
		Use: "rotate --reason TEXT [flags]", Short: "replace the CEO's key, by an order that it signs", Args: console.Takes(),
		Long: `Rotate makes a new key and has every project take it, by an order that the old
key signs and that is on record there. What the old key signs afterwards is
refused. The old file stays beside the new one, with .old at its end: what it
has signed stays signed. Ended half-way, it goes on when it is run again.

In a cluster, start the other hosts again before they get new projects.`,
		Example: "  loom auth ceo rotate --reason \"a year has passed\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := (&approval.OrderFlags{Reason: reason}).Check(cmd); err != nil {
				return err
			}
			path, err := keyPath(path)
			if err != nil {
				return err
			}
			return a.rotate(cmd.Context(), path, reason)
		},
	}
	cmd.Flags().StringVar(&path, "key", "", keyUsage)
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why, for the record; required")
	return cmd
}

// rotate has every project take a new key, that of the deployment last, and
// then puts the new key in the place of the old.
func (a *Commands) rotate(ctx context.Context, path, reason string) error {
	old, err := ceokey.Open(path)
	if err != nil {
		return err
	}
	next, _, err := ceokey.OpenOrCreate(path + ".new")
	if err != nil {
		return err
	}
	err = a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		ceo, err := client.OpenCEO(a.Target())
		if err != nil {
			return err
		}
		defer ceo.Close()
		for _, id := range append(about.Projects, project.System) {
			if err := take(ctx, ceo, about.Deployment, id, old, next, reason); err != nil {
				return fault.From(err).At("project " + id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(durable.Rename(path, path+".old"), durable.Rename(path+".new", path)); err != nil {
		return fault.New("data/permissions", "the new key is taken, and cannot be put in its place").At(path).Because(err).
			Want("move %s.new to %s", path, path)
	}
	fmt.Fprintf(a.Err, "the CEO's key is another now, in %s; the old one is in %s.old\n", path, path)
	_, err = fmt.Fprintln(a.Out, next.Public())
	return err
}

// take has a project take a key. One that has taken it before refuses the old
// key's signature, and says of the new key's that nothing changes.
func take(ctx context.Context, ceo *client.Client, deployment, id string, old, next *ceokey.Key, reason string) error {
	public, err := ceokey.Parse(next.Public())
	if err != nil {
		return err
	}
	order := &loomv1.RotateKey{PublicKey: public, Reason: reason}
	for _, by := range []*ceokey.Key{old, next} {
		cmd, serr := by.Rotate(deployment, id, order)
		if serr != nil {
			return serr
		}
		if err = ceo.Present(ctx, "rotate", cmd); fault.Code(err) != "approval/signature" {
			return err
		}
	}
	return err
}

func (a *Commands) ceoEnrol() *cobra.Command {
	var path string
	var lost bool
	cmd := &cobra.Command{
		Use: "enrol --lost-key [flags]", Short: "make another key the CEO's, when the old one is lost", Args: console.Takes(),
		Long: `Enrol makes a key the CEO's without the old key's word, in the data directory of
a host that is not running: whoever can write there decides. The old key is
refused from the next start on; what it has signed stays signed, and the
manifest keeps it as a former one.

In a cluster, stop all hosts and do it on each, with the same key.`,
		Example: "  loom auth ceo enrol --lost-key --key ceo-2.nk",
		RunE: func(*cobra.Command, []string) error {
			if !lost {
				return fault.New("usage/argument", "the old key is worth nothing afterwards").At("--lost-key").
					Want("say so with --lost-key; with the old key at hand: loom auth ceo rotate")
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
