package hosting

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/session"
	"github.com/loomrun/loom/internal/net/web"
	"github.com/loomrun/loom/internal/ops/browser"
)

// openFlags are those of "loom open".
type openFlags struct {
	scopes    []string
	life      time.Duration
	host      string
	noBrowser bool
}

// Open returns the command of that name.
func (a *Commands) Open() *cobra.Command {
	var o openFlags
	cmd := &cobra.Command{
		Use: "open [flags]", Short: "sign in to the host with a browser", Args: console.Takes(),
		Long: `Open prints a link that signs a browser in to the host of the data directory,
and shows it in your browser, at a terminal that has one. The link works once,
within 5 minutes; the browser keeps a cookie from then on. "loom auth session
list" shows who is signed in, and "loom auth session revoke" ends a session.

Scopes are those of tokens. No session can approve: that takes a key that signs
in the CEO's name ("loom key list"), which may be the browser's own.`,
		Example: "  loom open\n  loom open --scope read --expires 1h --no-browser",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.open(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.scopes, "scope", nil, "what it may do: `SCOPE`, comma-separated (default: all)")
	f.DurationVar(&o.life, "expires", session.Life, "`TIME` that the session lasts, at most 168h")
	f.StringVar(&o.host, "host", "", "`NAME` that the browser knows the host by")
	f.BoolVar(&o.noBrowser, "no-browser", false, "print the link, and show it nowhere")
	return cmd
}

func (a *Commands) open(ctx context.Context, o openFlags) error {
	base, err := os.ReadFile(filepath.Join(a.Data, "page.url"))
	if err != nil {
		return fault.New("host/not-running", "no host of this data directory serves HTTP").At(a.Data).Want("loom up, with --http")
	}
	at, err := under(strings.TrimSpace(string(base)), o.host)
	if err != nil {
		return err
	}
	if len(o.scopes) == 0 {
		o.scopes = session.Scopes()
	}
	secret, err := session.Invite(a.Data, o.scopes, o.life, time.Now())
	if err != nil {
		return flagged(err)
	}
	link := web.SignIn(at, secret)
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{"link": link, "seconds": int(session.LinkLife / time.Second)})
	}
	if _, err := fmt.Fprintln(a.Out, link); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "it signs one browser in, within %d minutes, to %s\n", int(session.LinkLife/time.Minute), strings.Join(o.scopes, ", "))
	if command := browser.Command(); command != "" && !o.noBrowser && console.Terminal(a.Out) {
		if err := browser.Show(ctx, command, link); err != nil {
			fmt.Fprintf(a.Err, "no browser has shown it (%s); open it by hand\n", console.Line(err.Error(), 80))
		}
	}
	return nil
}

// under is the address of a host under another name, "" for its own.
func under(base, name string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fault.New("host/not-running", "the host's address is none").Got(base)
	}
	if name == "" {
		return base, nil
	}
	u.Host = net.JoinHostPort(name, u.Port())
	if again, err := url.Parse(u.String()); err != nil || again.Hostname() != name {
		return "", fault.New("usage/argument", "not the name of a host").At("--host").Got(name)
	}
	return u.String(), nil
}

// flagged names the flag that an error is about.
func flagged(err error) error {
	f := *fault.From(err)
	switch f.Where {
	case "scope", "expires":
		f.Where = "--" + f.Where
	}
	return &f
}
