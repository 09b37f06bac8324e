package auth

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/session"
)

func (a *Commands) sessions() *cobra.Command {
	return console.Group("session", "browsers that are signed in", "  loom open\n  loom auth session list\n  loom auth session revoke 3f9a01bc",
		a.sessionList(), a.sessionRevoke())
}

func (a *Commands) sessionList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "the browsers that are signed in", Args: console.Takes(), Example: "  loom auth session list",
		Long: "List shows the browsers that are signed in, and links that no browser has come\nwith yet. \"loom open\" makes a link.",
		RunE: func(*cobra.Command, []string) error {
			all, err := session.List(a.Data, time.Now())
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(map[string]any{"sessions": append([]session.Session{}, all...)})
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Out, "nobody is signed in")
				return nil
			}
			rows := make([][]string, 0, len(all))
			for _, s := range all {
				what := console.Line(s.Browser, 60)
				if s.Link {
					what = "(a link that was not used)"
				}
				rows = append(rows, []string{s.Name, strings.Join(s.Scopes, ","), console.Stamp(timestamppb.New(s.Created)), console.Stamp(timestamppb.New(s.Expires)), console.Dash(what)})
			}
			console.Table(a.Out, []string{"session", "scopes", "since", "expires", "browser"}, rows)
			return nil
		},
	}
}

func (a *Commands) sessionRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "sign a browser out", Args: console.Takes("NAME"), Example: "  loom auth session revoke 3f9a01bc",
		Long: "Revoke ends a session, or has a link work no more. A running host refuses it\nfrom then on, and ends its streams within 5 seconds.",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := session.Revoke(a.Data, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "session %q is ended\n", console.Line(args[0], 80))
			return nil
		},
	}
}
