package auth

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/token"
)

func (a *Commands) tokens() *cobra.Command {
	return console.Group("token", "bearer tokens for HTTP", "  loom auth token create --name grafana --scope read\n  loom auth token list",
		a.tokenCreate(), a.tokenList(), a.tokenRevoke())
}

func (a *Commands) tokenCreate() *cobra.Command {
	var name, expires string
	var scopes []string
	cmd := &cobra.Command{
		Use: "create [flags]", Short: "make a token, and print it once", Args: console.Takes(),
		Long: `Create prints a token that nobody will see again: the data directory keeps its
hash alone. Its scopes say what it may do over HTTP:

  read      views, metrics, and what happens
  submit    file beads and report errors
  operate   change, close and reopen beads, fork executions
  audit     what happens, and nothing else

No token can approve; that takes the CEO's key. A running host knows the token
at once.`,
		Example: "  loom auth token create --name grafana --scope read --expires 30d\n  loom auth token create --name ci --scope submit,read",
		RunE: func(*cobra.Command, []string) error {
			life, err := parseLife(expires)
			if err != nil {
				return err
			}
			t, secret, err := token.Create(a.Data, name, scopes, life, time.Now())
			if err != nil {
				return flagged(err)
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(struct {
					token.Token
					Secret string `json:"secret"`
				}{t, secret})
			}
			fmt.Fprintf(a.Err, "token %q for %s, until %s\n", t.Name, strings.Join(t.Scopes, ", "), console.Stamp(timestamppb.New(t.Expires)))
			_, err = fmt.Fprintln(a.Out, secret)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "`NAME` to know it by")
	f.StringSliceVar(&scopes, "scope", nil, "what it may do: `SCOPE`, comma-separated")
	f.StringVar(&expires, "expires", "90d", "`TIME` that it lasts, at most 90d")
	return cmd
}

// flagged names the flag that an error is about.
func flagged(err error) error {
	f := *fault.From(err)
	switch f.Where {
	case "name", "scope", "expires":
		f.Where = "--" + f.Where
	}
	return &f
}

// parseLife reads how long a token lasts: a duration, or days as 30d.
func parseLife(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, positive(n, s)
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, positive(0, s)
	}
	return d, nil
}

func positive(n uint64, s string) error {
	if n > 0 {
		return nil
	}
	return fault.New("usage/argument", "not how long a token can last").At("--expires").Got(s).Want("for example 30d or 12h")
}

func (a *Commands) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "the tokens there are", Args: console.Takes(), Example: "  loom auth token list",
		RunE: func(*cobra.Command, []string) error {
			all, err := token.List(a.Data)
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(map[string]any{"tokens": append([]token.Token{}, all...)})
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Out, "no tokens")
				return nil
			}
			var rows [][]string
			for _, t := range all {
				rows = append(rows, []string{t.Name, strings.Join(t.Scopes, ","), console.Stamp(timestamppb.New(t.Created)), console.Stamp(timestamppb.New(t.Expires))})
			}
			console.Table(a.Out, []string{"token", "scopes", "made", "expires"}, rows)
			return nil
		},
	}
}

func (a *Commands) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "take a token away", Args: console.Takes("NAME"), Example: "  loom auth token revoke grafana",
		Long: "Revoke takes a token away. A running host refuses it from then on, and ends its\nstreams within 5 seconds.",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := token.Revoke(a.Data, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "token %q is revoked\n", console.Line(args[0], 80))
			return nil
		},
	}
}
