package auth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/store/datadir"
)

func (a *Commands) transport() *cobra.Command {
	return console.Group("tls", "the certificate that hosts show to clients",
		"  loom auth tls init --host loom.example.com", a.tlsInit())
}

func (a *Commands) tlsInit() *cobra.Command {
	var names []string
	var from string
	cmd := &cobra.Command{
		Use: "init [flags]", Short: "make a private authority and a host's certificate, or renew it", Args: console.Takes(),
		Long: `Init makes an authority for this deployment, if there is none in the data
directory, and a certificate of a year for the host's names. Doing it again
renews the certificate; a running host shows the new one to the next client.

"loom up" uses it on every address that is not loopback. Credentials that are
made afterwards carry the authority. Another host of the same deployment takes
its certificate from the same one, with --authority.`,
		Example: "  loom auth tls init --host loom.example.com --host 192.0.2.7\n  loom --data /srv/h2 auth tls init --host h2 --authority /srv/h1/tls",
		RunE: func(*cobra.Command, []string) error {
			dir := filepath.Join(a.Data, datadir.TLSName)
			m, err := certificate.Init(dir, cmp.Or(from, dir), names, time.Now())
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(m)
			}
			if m.NewAuthority {
				fmt.Fprintf(a.Err, "made an authority; its key signs for every host: keep %s safe\n", filepath.Join(dir, "ca.key"))
			}
			fmt.Fprintf(a.Err, "certificate for %s, until %s\n", strings.Join(m.Names, ", "), m.Expires.Format(time.DateOnly))
			_, err = fmt.Fprintln(a.Out, m.Certificate)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&names, "host", nil, "`NAME` or address that clients reach the host by; may be given again")
	cmd.Flags().StringVar(&from, "authority", "", "`DIR` of the authority that signs (default: the data directory's own)")
	return cmd
}
