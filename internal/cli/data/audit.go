package data

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/vault"
)

// Audit returns the command of that name.
func (a *Commands) Audit() *cobra.Command {
	return console.Group("audit", "what people decided, and what they were refused", "  loom audit verify\n  loom audit export shop-2 >shop-2.dsse.json\n  loom audit check shop-2.dsse.json", a.auditVerify(), a.auditExport(), a.auditCheck())
}

func (a *Commands) auditVerify() *cobra.Command {
	var beside bool
	cmd := &cobra.Command{
		Use: "verify [flags]", Short: "every act of a person and every permission, and its signature", Args: console.Takes(),
		Long: `Verify follows the chain of every journal and lists what people did and what was
permitted or refused: who, what, why, on which digest. Each approval and each
command of the CEO must carry a valid signature of the CEO's key over exactly
what is recorded, made for this deployment, in time, and used once. Anything
else is named, as is an answered change whose diff is away or damaged, and the
exit status is 7.`,
		Example: "  loom audit verify\n  loom audit verify --beside --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store(beside)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			found, err := s.Audit(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.found(found, found.Damage)
			}
			auditText(console.Prose(a.Out, 0), found)
			return found.Err()
		},
	}
	cmd.Flags().BoolVar(&beside, "beside", false, "read beside a host that runs")
	return cmd
}

func auditText(w io.Writer, f *vault.Audit) {
	for _, act := range f.Acts {
		fmt.Fprintf(w, "%s  %s  %s by %s\n", console.Stamp(timestamppb.New(act.Time)), act.Position, act.Kind, console.Line(act.Who, 60))
		fmt.Fprintf(w, "    what:      %s\n", console.Line(console.Plainly(act.What), 200))
		if act.Why != "" {
			fmt.Fprintf(w, "    why:       %s\n", console.Line(console.Plainly(act.Why), 200))
		}
		if act.Digest != "" {
			fmt.Fprintf(w, "    digest:    %s\n", console.Line(act.Digest, 64))
		}
		if act.Signature != "none" {
			fmt.Fprintf(w, "    signature: %s\n", console.Line(act.Signature, 200))
		}
	}
	fmt.Fprintf(w, "%s, %d signed by the CEO\n", console.Count(len(f.Acts), "act"), f.Signed)
	for _, n := range f.Notes {
		fmt.Fprintf(w, "note: %s\n", console.Printable(n))
	}
	if f.Sound {
		fmt.Fprintln(w, "every chain holds, and every signature is valid")
	}
}
