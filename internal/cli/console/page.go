package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/ops/pager"
)

// Page shows a text in the reader's pager, where somebody reads at a terminal and has
// not said NoPager; else, and where the pager does not start, it prints it.
func (a *Console) Page(ctx context.Context, text string) error {
	command := pager.Command()
	if command == "" || a.NoPager || a.JSON || !Terminal(a.Out) {
		_, err := fmt.Fprint(a.Out, text)
		return err
	}
	if err := pager.Show(ctx, command, text, under(a.Out), under(a.Err)); err != nil && ctx.Err() == nil {
		fmt.Fprintf(a.Err, "the pager %q does not show it: %s\n", strings.Fields(command)[0], err)
		_, err := fmt.Fprint(a.Out, text)
		return err
	}
	return ctx.Err()
}
