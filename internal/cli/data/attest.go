package data

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/ops/vault"
)

func (a *Commands) auditExport() *cobra.Command {
	var beside bool
	var keyPath string
	cmd := &cobra.Command{
		Use: "export APPROVAL [flags]", Short: "an answered approval, as an in-toto statement in DSSE", Args: console.Takes("APPROVAL"),
		Long: `Export writes what was asked, what was answered and the CEO's signature as one
file in JSON, which proves itself without the host: an in-toto statement in a
DSSE envelope that your key signs. "loom audit check" checks it, and so can
others (docs/security.md says how).`,
		Example: "  loom audit export shop-2 >shop-2.dsse.json\n  loom audit export shop-2 --beside --key ~/ceo.nk",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckID("APPROVAL", args[0]); err != nil {
				return err
			}
			key, err := approval.OpenKey(keyPath)
			if err != nil {
				return err
			}
			s, err := a.store(beside)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			e, err := s.Export(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			return json.NewEncoder(a.Out).Encode(e)
		},
	}
	cmd.Flags().BoolVar(&beside, "beside", false, "read beside a host that runs")
	cmd.Flags().StringVar(&keyPath, "key", "", "the key `FILE` that signs the envelope (default: the CEO's, in your configuration directory)")
	return cmd
}

func (a *Commands) auditCheck() *cobra.Command {
	var ceo string
	cmd := &cobra.Command{
		Use: "check FILE [flags]", Short: "check an exported approval, with nothing but the file", Args: console.Takes("FILE"),
		Long: `Check proves offline that an exported approval is what was signed: the
envelope's signature, the CEO's signature over the answer, and that the answer's
digest is that of all that was shown. Give the key that you know as the CEO's
with --ceo; without it, compare the key that is named. What the envelope says
besides (names, times of the host) stands apart: the answer does not cover it.`,
		Example: "  loom audit check shop-2.dsse.json --ceo UCQ...\n  loom audit check shop-2.dsse.json --json",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.ReadFile(args[0])
			if err != nil {
				return err
			}
			e, err := vault.ParseEnvelope(data)
			if err != nil {
				return fault.From(err).At(args[0])
			}
			found, err := vault.Check(e)
			if err != nil {
				return err
			}
			if ceo != "" {
				if _, err := ceokey.Parse(ceo); err != nil && !strings.HasPrefix(ceo, "passkey:") {
					return fault.From(err).At("--ceo")
				}
				if found.SignedBy != ceo {
					return fault.New("approval/signature", "%s answered it, and not the key that you know", found.SignedBy).At("--ceo").Got(ceo)
				}
			}
			return a.PrintAny(found, func(w io.Writer) {
				checkedText(w, found)
			})
		},
	}
	cmd.Flags().StringVar(&ceo, "ceo", "", "the public `KEY` as you know it, \"U...\" or \"passkey:...\"")
	return cmd
}

// checkedText is what an export proves, and apart from it what is the envelope's word.
func checkedText(w io.Writer, found *vault.Checked) {
	fmt.Fprintf(w, "%s  %s\n", found.Approval, found.Decision)
	fmt.Fprintf(w, "  question:  %s\n  digest:    %s\n", console.Plainly(found.Question), found.Digest)
	if found.Choice != "" {
		fmt.Fprintf(w, "  choice:    %s\n", console.Plainly(found.Choice))
	}
	if found.Comment != "" {
		fmt.Fprintf(w, "  comment:   %s\n", console.Plainly(found.Comment))
	}
	if found.Commit != "" {
		fmt.Fprintf(w, "  change:    %s\n", console.Plainly(found.Commit))
	}
	fmt.Fprintf(w, "  signed by: %s, at %s by its own clock\n", found.SignedBy, second(found.SignedAt))
	for _, k := range found.AlsoSignedBy {
		fmt.Fprintf(w, "  and by:    %s\n", k)
	}
	e := found.Envelope
	fmt.Fprintf(w, "not covered by that signature, the word of the envelope's key alone:\n  envelope:  %s\n", e.SignedBy)
	fmt.Fprintf(w, "  key name:  %s\n  asked:     %s\n  decided:   %s\n", console.Dash(console.Plainly(e.Key)), second(e.AskedAt), second(e.DecidedAt))
	if e.Position != "" {
		fmt.Fprintf(w, "  position:  %s\n", console.Plainly(e.Position))
	}
}

func second(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
