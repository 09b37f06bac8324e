package hosting

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
)

// healthWithin bounds the answer of a host that is well.
const healthWithin = 10 * time.Second

// Health returns the command of that name.
func (a *Commands) Health() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "health [flags]", Short: "does the host of the data directory live, for supervisors", Args: console.Takes(),
		Long: `Health asks the host of the data directory over HTTP whether it lives, or with
--ready whether it can work, and exits 0 if so and 6 if not. It is for the
health checks of containers and supervisors; it needs no token, and a host that
serves HTTP. "loom status" tells more.`,
		Example: "  loom health\n  loom health --ready",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return a.askHealth(cmd.Context(), path)
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it can work")
	return cmd
}

func (a *Commands) askHealth(ctx context.Context, path string) error {
	url, err := os.ReadFile(filepath.Join(a.Data, "http.url"))
	if err != nil {
		return fault.New("host/not-running", "no host of this data directory serves HTTP").At(a.Data).Want("loom up, with --http")
	}
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(string(url))+path, nil)
	if err != nil {
		return fault.New("host/not-running", "the host's address is none").At(a.Data).Because(err)
	}
	// Nothing secret is sent to this machine's own port, and no more is believed
	// than that it lives.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // see above
	answer, err := client.Do(request)
	if err != nil {
		return fault.New("host/not-running", "the host does not answer").At(strings.TrimSpace(string(url))).Because(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return fault.New("host/not-running", "the host does not answer").Because(err)
	}
	fmt.Fprintln(a.Out, console.Printable(strings.TrimSpace(string(text))))
	if answer.StatusCode != http.StatusOK {
		return console.ExitError{Status: fault.Unavailable}
	}
	return nil
}
