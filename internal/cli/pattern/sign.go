package pattern

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// signer is the CEO, who may seal any session: her seal is a signed command on the digest
// of the envelope that was shown.
type signer struct {
	on           bool
	path, reason string
	key          *ceokey.Key
}

func (s *signer) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.on, "sign", false, "seal with the CEO's key")
	cmd.Flags().StringVar(&s.path, "key", "", "with --sign: the CEO's key `FILE` (default: in your configuration directory)")
	cmd.Flags().StringVar(&s.reason, "reason", "ready", "with --sign: `TEXT` for the record")
}

// open reads the key before anybody is asked anything.
func (s *signer) open() (err error) {
	switch {
	case !s.on && s.path != "":
		return fault.New("usage/argument", "a key signs only with --sign").At("--key")
	case s.on:
		s.key, err = approval.OpenKey(s.path)
	}
	return err
}

func (s *signer) signs() bool { return s != nil && s.key != nil }

// seal signs the envelope of a session that has a digest, and presents that.
func (s *signer) seal(ctx context.Context, a *Commands, c *client.Client, of *loomv1.PatternSession, digest string) error {
	about, err := c.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return err
	}
	ceo, err := client.OpenCEO(a.Target())
	if err != nil {
		return err
	}
	defer ceo.Close()
	return approval.Give(ctx, ceo, s.key, about.Deployment, of.Project, &loomv1.CeoCommand{
		Verb: &loomv1.CeoCommand_Seal{Seal: &loomv1.SealSession{Session: of.Id, Digest: digest, Reason: s.reason}},
	})
}

// sealAsCEO is the verb seal with the CEO's key.
func (a *Commands) sealAsCEO(cmd *cobra.Command, project, id, digest string, by *signer) error {
	if err := console.CheckToken("SESSION", id); err != nil {
		return err
	}
	if err := console.CheckName("--project", project); err != nil {
		return err
	}
	return a.With(cmd.Context(), func(c *client.Client) error {
		t := a.talk(c, project, nil)
		if err := t.look(cmd.Context(), id); err != nil {
			return err
		}
		if err := by.seal(cmd.Context(), a, c, t.s, digest); err != nil {
			return err
		}
		if err := t.look(cmd.Context(), id); err != nil {
			return err
		}
		return a.Print(t.s, func(w io.Writer) { fmt.Fprintln(w, intent.Standing(t.s)) })
	})
}
