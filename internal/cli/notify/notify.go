package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/notify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// options are the flags of the verb.
type options struct {
	to                   []string
	kinds                []string
	project, team        string
	secret, state, since string
	once                 bool
}

// Notify returns the command of that name.
func (a *Commands) Notify() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "notify [flags]", Short: "tell people that something waits for them", Args: console.Takes(),
		Long: `Notify follows the journal and tells each --to of what waits for a person: an
approval, an escalation, a question, and work that was paused or held back. It
runs until Ctrl-C, and after that goes on where each target was, so nothing is
missed and nothing is told twice; what was answered meanwhile is left out. What
cannot be told is tried again; what a target refuses for good, or a command
fails with five times, is told on the standard error. With --once such a command
ends it, and has that notice at the next start.

  webhook=URL    JSON, signed with HMAC-SHA256 in Loom-Signature (--secret)
  slack=URL      an incoming webhook of Slack, Mattermost or the like
  ntfy=URL       a topic of ntfy.sh, or of a server of your own
  command=LINE   a shell's line: JSON on its input, LOOM_TITLE and others set
  desktop        notify-send of this desktop`,
		Example: "  loom notify --to ntfy=https://ntfy.sh/my-topic --to desktop\n  loom notify --to slack=\"$SLACK_URL\" --project shop\n" +
			"  loom notify --to webhook=https://example.com/x --secret hook.key --kind landed",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.config(cmd.Context(), a.Console)
			if err != nil {
				return err
			}
			err = a.With(cmd.Context(), func(from *client.Client) error {
				if err := o.place(cmd.Context(), from, &c); err != nil {
					return err
				}
				c.Source = from
				c.Waits = func(ctx context.Context, project, approval string) bool {
					v, err := from.Inbox(ctx, &loomv1.Query{Project: project, Id: approval})
					if err != nil { // who cannot look tells
						return fault.Code(err) != "approval/unknown"
					}
					return len(v.Approvals) != 1 || v.Approvals[0].DecidedAt == nil
				}
				return c.Run(cmd.Context())
			})
			if !o.once && errors.Is(err, context.Canceled) {
				return nil // that is how it ends
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.to, "to", nil, "`TARGET` to tell; may be given again")
	f.StringSliceVar(&o.kinds, "kind", nil, "this `KIND` of event, as \"loom events\" prints it (default: "+strings.Join(notify.Kinds, ", ")+")")
	f.StringVar(&o.project, "project", "", "only of the project of this `NAME`")
	f.StringVar(&o.team, "team", "", "only of the bead with this `ID` and of its parts")
	f.StringVar(&o.secret, "secret", "", "`FILE` with the secret that webhooks are signed with")
	f.StringVar(&o.state, "state", "", "`FILE` of how far each target is (default: in your configuration directory)")
	f.StringVar(&o.since, "since", "", "tell a new target also of what began so long ago (2h), or of all since a `TIME`")
	f.BoolVar(&o.once, "once", false, "tell what there is since the last time, and end; a new target begins now, or at --since")
	return cmd
}

// config checks the flags, before anybody is asked or told.
func (o *options) config(_ context.Context, c *console.Console) (notify.Config, error) {
	made := notify.Config{
		Live: !o.once, State: o.state, First: time.Now(),
		Query: &loomv1.NoticesRequest{Project: o.project, Team: o.team, Kinds: o.kinds},
		Log:   slog.New(slog.NewTextHandler(c.Err, nil)),
	}
	for _, kind := range o.kinds {
		if !slices.Contains(notice.Kinds(), kind) {
			return made, fault.New("usage/argument", "no such kind of event").At("--kind").Got(kind).Want("%s", suggest.Among(kind, notice.Kinds()))
		}
	}
	if o.since != "" {
		t, err := console.ParseTime("--since", o.since, made.First)
		if err != nil {
			return made, err
		}
		made.First = t.AsTime()
	}
	var secret []byte
	if o.secret != "" {
		var err error
		if secret, err = secretIn(o.secret); err != nil {
			return made, err
		}
	}
	for _, to := range o.to {
		t, err := notify.ParseTarget(to, secret)
		if err != nil {
			return made, err
		}
		made.Targets = append(made.Targets, t)
	}
	if len(made.Targets) == 0 {
		return made, fault.New("usage/argument", "nobody is to be told").At("--to").Want("for example --to ntfy=https://ntfy.sh/my-topic")
	}
	return made, nil
}

// secretIn reads a file that nobody else may read.
func secretIn(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.New("usage/argument", "the secret cannot be read").At("--secret").Got(path).Because(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fault.New("data/permissions", "others may read the secret (mode %04o)", info.Mode().Perm()).At(path).Want("chmod 600 it")
	}
	data, err := os.ReadFile(path)
	if data = bytes.TrimSpace(data); err == nil && len(data) < 16 {
		return nil, fault.New("usage/argument", "the secret has %d bytes", len(data)).At("--secret").Want("16 or more, for example of: openssl rand -hex 32")
	}
	return data, err
}

// place chooses the file of how far targets are: one for each deployment, whose
// positions are no other's.
func (o *options) place(ctx context.Context, from *client.Client, c *notify.Config) error {
	if c.State != "" {
		return nil
	}
	host, err := from.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return fault.New("data/permissions", "no configuration directory").Because(err).Want("name a file: --state FILE")
	}
	dir = filepath.Join(dir, "loom")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New("data/permissions", "the configuration directory cannot be made").At(dir).Because(err)
	}
	c.State = filepath.Join(dir, fmt.Sprintf("notify-%s.json", host.Deployment))
	return nil
}
