package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// snoozes are the things that a person does not want to see for a while: until when, by
// PROJECT/ID. They are that person's on this machine, and hold nothing up: others see
// what waits as before.
type snoozes map[string]time.Time

// of names what waits in a list of snoozes.
func of(one *loomv1.Waiting) string { return one.Project + "/" + one.Id }

func (s snoozes) has(one *loomv1.Waiting) bool { return !s[of(one)].IsZero() }

// first is when the first of what waits and is asleep comes back.
func (s snoozes) first(list []*loomv1.Waiting) (at time.Time) {
	for _, one := range list {
		if until := s[of(one)]; !until.IsZero() && (at.IsZero() || until.Before(at)) {
			at = until
		}
	}
	return at
}

// asleep reads what is snoozed still, for the deployment of a client. Where no host runs
// that knows which one that is, or who asks may not know it, nothing is left out.
func (a *Commands) asleep(ctx context.Context, c *client.Client) (snoozes, error) {
	path, err := snoozePath(ctx, c)
	if err != nil {
		return snoozes{}, ctx.Err()
	}
	return readSnoozes(path, time.Now())
}

// snoozePath is the file of what is snoozed, one for each deployment.
func snoozePath(ctx context.Context, c *client.Client) (string, error) {
	about, err := c.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return "", err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fault.New("data/permissions", "no configuration directory for what is snoozed").Because(err)
	}
	return filepath.Join(dir, "loom", fmt.Sprintf("snoozed-%s.json", about.Deployment)), nil
}

// readSnoozes reads a file of snoozes, without those that are over; no file is none.
func readSnoozes(path string, now time.Time) (snoozes, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return snoozes{}, nil
	}
	s := snoozes{}
	if err == nil {
		if data, err = privatefile.Whole(data); err == nil {
			err = json.Unmarshal(data, &s)
		}
	}
	if err != nil {
		return nil, fault.New("data/permissions", "what is snoozed cannot be read").At(path).Because(err).Want("remove the file, which shows all again")
	}
	for id, until := range s {
		if !until.After(now) {
			delete(s, id)
		}
	}
	return s, nil
}

// changeSnoozes changes a file of snoozes, one process after the other.
func changeSnoozes(path string, now time.Time, change func(snoozes)) error {
	broken := func(err error) error {
		return fault.New("data/permissions", "what is snoozed cannot be written").At(path).Because(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return broken(err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return broken(err)
	}
	defer func() { _ = lock.Unlock() }()
	s, err := readSnoozes(path, now)
	if err != nil {
		return err
	}
	change(s)
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = privatefile.Replace(path, privatefile.Summed(data))
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// snooze returns the command inbox snooze.
func (a *Commands) snooze() *cobra.Command {
	var name, lasts, until string
	cmd := &cobra.Command{
		Use: "snooze ID [flags]", Short: "leave one out of your list for a while", Args: console.Takes("ID"),
		Long: `Snooze leaves what waits out of your list for a while: an approval, a session
of a pattern or a conversation. It is kept in your configuration directory;
others see it as before, and so do you where you ask for it by its id.`,
		Example: "  loom inbox snooze shop-2 --for 4h\n  loom inbox snooze s1 --until 2026-01-05T08:00:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			end, err := sleepsUntil(lasts, until, now)
			if err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				one, err := a.waiting(cmd.Context(), c, name, args[0])
				if err != nil {
					return err
				}
				path, err := snoozePath(cmd.Context(), c)
				if err != nil {
					return err
				}
				if err := changeSnoozes(path, now, func(s snoozes) { s[of(one)] = end.UTC() }); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s is snoozed until %s\n", args[0], console.Stamp(timestamppb.New(end)))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&lasts, "for", "", "`TIME` that it lasts, as in 30m (default: 4h)")
	cmd.Flags().StringVar(&until, "until", "", "until this `TIME`")
	console.ProjectFlag(cmd, &name)
	return cmd
}

// wake returns the command inbox wake.
func (a *Commands) wake() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "wake [ID] [flags]", Short: "show one again, or all that are snoozed", Args: console.Takes("[ID]"),
		Example: "  loom inbox wake shop-2\n  loom inbox wake",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), func(c *client.Client) error {
				path, err := snoozePath(cmd.Context(), c)
				if err != nil {
					return err
				}
				ids := map[string]bool{}
				if len(args) == 1 {
					one, err := a.waiting(cmd.Context(), c, name, args[0])
					if err != nil {
						return err
					}
					ids[of(one)] = true
				}
				n := 0
				if err := changeSnoozes(path, time.Now(), func(s snoozes) {
					for id := range s {
						if len(args) == 0 || ids[id] {
							delete(s, id)
							n++
						}
					}
				}); err != nil {
					return err
				}
				if n == 0 {
					fmt.Fprintln(a.Out, "nothing was snoozed")
					return nil
				}
				fmt.Fprintf(a.Out, "shown again: %d\n", n)
				return nil
			})
		},
	}
	console.ProjectFlag(cmd, &name)
	return cmd
}

// waiting finds what waits under an id.
func (a *Commands) waiting(ctx context.Context, c *client.Client, name, id string) (*loomv1.Waiting, error) {
	v, err := c.Inbox(ctx, &loomv1.Query{Project: name, Limit: 1000})
	if err != nil {
		return nil, err
	}
	var found []*loomv1.Waiting
	for _, one := range v.Waits {
		if one.Id == id {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return nil, fault.New("approval/unknown", "nothing waits under that id").At("ID").Got(id).Want("one that loom inbox lists")
	case 1:
		return found[0], nil
	}
	return nil, fault.New("usage/argument", "several projects have what waits under that id").At("ID").Got(id).Want("name the project: --project %s", found[0].Project)
}

// sleepsUntil is the end of a snooze.
func sleepsUntil(lasts, until string, now time.Time) (time.Time, error) {
	switch {
	case lasts != "" && until != "":
		return time.Time{}, fault.New("usage/argument", "a snooze has one end").At("--until").Want("--for or --until")
	case until != "":
		t, err := time.Parse(time.RFC3339, until)
		if err != nil || !t.After(now) {
			return time.Time{}, fault.New("usage/argument", "not a moment to come").At("--until").Got(until).Want("for example %s", now.Add(4*time.Hour).UTC().Format(time.RFC3339))
		}
		return t, nil
	case lasts == "":
		return now.Add(4 * time.Hour), nil
	}
	d, err := time.ParseDuration(lasts)
	if err != nil || d <= 0 || d > 366*24*time.Hour {
		return time.Time{}, fault.New("usage/argument", "not how long").At("--for").Got(lasts).Want("for example 30m or 4h, up to a year")
	}
	return now.Add(d), nil
}
