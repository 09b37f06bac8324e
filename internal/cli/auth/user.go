package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

func (a *Commands) users() *cobra.Command {
	return console.Group("user", "identities: who may connect, and what each may do",
		"  loom auth user add ci --as publisher --project shop\n  loom auth user list\n  loom auth user revoke ci",
		a.userAdd(), a.userList(), a.userShow(), a.userRotate(), a.userRevoke())
}

// issue says where the credentials of an identity go, and what is in them.
type issue struct{ out, url, expires string }

func (i *issue) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.out, "out", "", "credentials `FILE` to make, 0600 (default: NAME.creds)")
	f.StringVar(&i.url, "url", "", "`URL` that the credentials name (default: where the host listens)")
	f.StringVar(&i.expires, "expires", "90d", "`TIME` that it lasts, at most 90d")
}

func (a *Commands) userAdd() *cobra.Command {
	var r identity.Request
	var to issue
	var as string
	cmd := &cobra.Command{
		Use: "add NAME --as KIND [flags]", Short: "let somebody in, and write their credentials", Args: console.Takes("NAME"),
		Long: `Add makes an identity and a file with its private key, which is kept nowhere
else. The deployment keeps the public half. A running host knows it at once.

  publisher  submits work and reports errors, reads notices
  observer   reads everything, changes nothing
  operator   uses every service; cannot approve
  ceo        reads, and presents commands that the CEO's key has signed
  host       is a Loom host elsewhere: journals, work, blobs
  worker     pulls the work of named roles, and nothing of journals

A publisher or observer with --project sees and names these projects alone. The
file is an nkey seed as NATS clients read it, with what loom needs in comments.`,
		Example: "  loom auth user add ci --as publisher --project shop --out ci.creds\n  loom --creds ci.creds --nats tls://loom.example.com:4222 submit \"...\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Name, r.Kind = args[0], identity.Kind(as)
			return a.issue(cmd.Context(), args[0], to, func(ctx context.Context, s identity.Store, life time.Duration) (identity.User, identity.Secrets, error) {
				r.Life = life
				return identity.Add(ctx, s, r, time.Now())
			})
		},
	}
	to.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&as, "as", "", "what it is for: `KIND`; required")
	f.StringArrayVar(&r.Projects, "project", nil, "`PROJECT` that it is narrowed to; may be given again")
	f.StringArrayVar(&r.Roles, "role", nil, "`ROLE` whose work a worker may pull; may be given again")
	return cmd
}

func (a *Commands) userRotate() *cobra.Command {
	var to issue
	cmd := &cobra.Command{
		Use: "rotate NAME [flags]", Short: "give an identity a new key and a new life", Args: console.Takes("NAME"),
		Long:    "Rotate makes a new key for an identity and writes new credentials. The old key\nis refused within 5 seconds, and connections that it has opened are ended.",
		Example: "  loom auth user rotate ci --out ci-2.creds",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.issue(cmd.Context(), args[0], to, func(ctx context.Context, s identity.Store, life time.Duration) (identity.User, identity.Secrets, error) {
				return identity.Rotate(ctx, s, args[0], life, time.Now())
			})
		},
	}
	to.flags(cmd)
	return cmd
}

// issue makes an identity, or its key, anew and writes its credentials.
func (a *Commands) issue(ctx context.Context, name string, to issue, make func(context.Context, identity.Store, time.Duration) (identity.User, identity.Secrets, error)) error {
	life, err := parseLife(to.expires)
	if err != nil {
		return err
	}
	if to.out == "" {
		to.out = name + ".creds"
	}
	if _, err := os.Lstat(to.out); err == nil {
		return fault.New("usage/argument", "the file is there already").At("--out").Got(to.out).Want("name another, or remove it")
	}
	store, done, err := a.identities()
	if err != nil {
		return err
	}
	defer done()
	u, secrets, err := make(ctx, store, life)
	if err != nil {
		return err
	}
	c := identity.Credentials{Name: u.Name, Kind: u.Kind, URL: to.url, Secrets: secrets}
	if err := a.complete(&c); err != nil {
		return err
	}
	if err := c.Write(to.out); err != nil {
		return fault.From(err).Want("the identity is there: \"loom auth user rotate %s\" makes other credentials", u.Name)
	}
	a.noted(ctx, c)
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{"identity": u, "credentials": to.out, "url": c.URL})
	}
	fmt.Fprintf(a.Err, "%s is %s until %s\n", u.Name, a.what(u), console.Stamp(timestamppb.New(u.Expires)))
	if c.URL == "" {
		fmt.Fprintln(a.Err, "the credentials name no host: give --nats with them")
	}
	_, err = fmt.Fprintln(a.Out, to.out)
	return err
}

// notedWithin is how long the host may take to note a new identity.
const notedWithin = 5 * time.Second

// noted waits until a host that runs on the data directory lets credentials in.
func (a *Commands) noted(ctx context.Context, c identity.Credentials) {
	if client.Address(a.Data) == "" {
		return
	}
	if m, err := datadir.Peek(a.Data); err == nil && m.Cluster != nil && m.Cluster.External {
		fmt.Fprintln(a.Err, "the servers let it in once they were reloaded with what \"loom auth nats users DIR\" writes")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notedWithin)
	defer cancel()
	if err := client.Await(ctx, a.Data, c); err != nil {
		fmt.Fprintf(a.Err, "the host does not let the credentials in yet: %s\n", console.Printable(err.Error()))
	}
}

// complete puts into credentials what the data directory tells of the host.
func (a *Commands) complete(c *identity.Credentials) error {
	m, err := datadir.Peek(a.Data)
	if err != nil {
		return err
	}
	c.Deployment = m.Deployment
	if c.URL == "" {
		c.URL = client.Address(a.Data)
	}
	authority, err := os.ReadFile(filepath.Join(a.Data, datadir.TLSName, certificate.AuthorityFile))
	if err == nil && !strings.HasPrefix(c.URL, "nats://") {
		c.Authority = authority
	}
	return nil
}

// identities returns where the deployment's identities are kept.
func (a *Commands) identities() (identity.Store, func(), error) {
	m, err := datadir.Peek(a.Data)
	if err != nil {
		return nil, nil, err
	}
	if m.Mode == datadir.ModeCluster {
		return client.Identities(a.Data)
	}
	return identity.NewFile(a.Data), func() {}, nil
}

// what is an identity in words.
func (a *Commands) what(u identity.User) string {
	words := map[identity.Kind]string{
		identity.Publisher: "a publisher", identity.Observer: "an observer", identity.Operator: "an operator",
		identity.CEO: "the CEO's way in", identity.Host: "a host", identity.Worker: "a worker",
	}[u.Kind]
	if list := narrowing(u); list != "" {
		words += " of " + list
	}
	return words
}

// narrowing are the projects or roles of an identity.
func narrowing(u identity.User) string { return strings.Join(append(u.Projects, u.Roles...), ", ") }

func (a *Commands) userList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "the identities there are, and were", Args: console.Takes(), Example: "  loom auth user list\n  loom auth user list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, done, err := a.identities()
			if err != nil {
				return err
			}
			defer done()
			all, err := store.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(map[string]any{"identities": append([]identity.User{}, all...)})
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Out, "no identities: on this machine's loopback clients need none, elsewhere nobody is let in")
				return nil
			}
			var rows [][]string
			for _, u := range all {
				rows = append(rows, []string{u.Name, string(u.Kind), console.Dash(narrowing(u)), state(u, time.Now())})
			}
			console.Table(a.Out, []string{"identity", "kind", "of", "state"}, rows)
			return nil
		},
	}
}

// state says whether an identity is let in, and until or since when.
func state(u identity.User, now time.Time) string {
	switch {
	case !u.Revoked.IsZero():
		return "revoked " + console.Stamp(timestamppb.New(u.Revoked))
	case !u.Valid(now):
		return "expired " + console.Stamp(timestamppb.New(u.Expires))
	}
	return "until " + console.Stamp(timestamppb.New(u.Expires))
}

func (a *Commands) userShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "one identity, and how its credentials are used", Args: console.Takes("NAME"), Example: "  loom auth user show ci",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, done, err := a.identities()
			if err != nil {
				return err
			}
			defer done()
			u, err := identity.Get(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(u)
			}
			a.userText(a.Out, u)
			return nil
		},
	}
}

func (a *Commands) userText(w io.Writer, u identity.User) {
	fmt.Fprintf(w, "%s is %s, %s, made %s\n", u.Name, a.what(u), state(u, time.Now()), console.Stamp(timestamppb.New(u.Created)))
	fmt.Fprintf(w, "key %s\n", u.Key)
	if u.Control != "" {
		fmt.Fprintf(w, "key to the account of signed commands %s\n", u.Control)
	}
	fmt.Fprintf(w, "inboxes %s.>\n", client.Inbox(u))
	fmt.Fprintf(w, "\nwith loom:  loom --creds %s.creds status\n", u.Name)
	fmt.Fprintf(w, "with nats:  nats --nkey %s.creds --tlsca %s.creds --inbox-prefix %s ...\n", u.Name, u.Name, client.Inbox(u))
}

func (a *Commands) userRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "take an identity away", Args: console.Takes("NAME"), Example: "  loom auth user revoke ci",
		Long: "Revoke takes an identity away: within 5 seconds a running host refuses it and\nends its connections. Its name stays on record and stands for nobody else.",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, done, err := a.identities()
			if err != nil {
				return err
			}
			defer done()
			if err := identity.Revoke(cmd.Context(), store, args[0], time.Now()); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "identity %q is revoked\n", console.Line(args[0], 80))
			return nil
		},
	}
}
