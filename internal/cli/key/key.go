// Package key is the verbs about the keys that sign in the CEO's name: list, add, revoke.
package key

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }

// Key returns the command of that name.
func (a *Commands) Key() *cobra.Command {
	list := a.Viewer("list", "the keys that sign in the CEO's name", client.Services.Key, table)
	list.Long = `List shows the keys that sign in the CEO's name, those that were revoked, and
changes that wait for another key's signature.`
	list.Example = "  loom key list"
	return console.Group("key", "the keys that sign in the CEO's name",
		"  loom key list\n  loom key add phone --new phone.nk --reason \"a second device\"\n  loom key revoke laptop --key phone.nk --reason \"it was stolen\"",
		list, a.add(), a.revoke())
}

func table(w io.Writer, v *loomv1.View) {
	rows := make([][]string, 0, len(v.Keys))
	for _, k := range v.Keys {
		state := "holds"
		if k.RevokedAt != nil {
			state = "revoked " + console.Stamp(k.RevokedAt) + " by " + strings.Join(k.RevokedBy, ", ")
		}
		rows = append(rows, []string{k.Project, k.Name, kind(k), state, console.Dash(strings.Join(k.EnrolledBy, ", ")), ceokey.ID(k), console.Line(k.Reason, 80)})
	}
	console.ProjectTable(w, []string{"name", "kind", "state", "enrolled by", "public", "why"}, rows)
	for _, c := range v.KeyChanges {
		fmt.Fprintf(w, "%s: %s waits for another key's signature since %s; %s has signed it\n", c.Project, words(c), console.Stamp(c.Since), c.By)
	}
}

func kind(k *loomv1.SigningKey) string {
	if p := k.GetPasskey(); p != nil {
		return "passkey of " + p.Origin
	}
	return "file"
}

func words(c *loomv1.KeyChange) string {
	if c.Revoke != nil {
		return "that key " + c.Revoke.Name + " is revoked"
	}
	return "that key " + c.GetEnrol().GetKey().GetName() + " is enrolled"
}

func (a *Commands) add() *cobra.Command {
	var by approval.OrderFlags
	var fresh, public, passkey string
	cmd := &cobra.Command{
		Use: "add NAME [flags]", Short: "have another key sign in the CEO's name", Args: console.Takes("NAME"),
		Long: `Add enrols a key under a name, by an order that a key which holds has signed.
One of these says which:

  --new FILE      makes a key, kept in FILE; only its public half leaves it
  --public KEY    the public half, as "loom auth ceo show" prints it elsewhere
  --passkey FILE  a WebAuthn credential, as JSON: relying_party, origin,
                  credential and public_key (SubjectPublicKeyInfo), in base64

With three keys or more, two have to sign a change of them: give the same
command again with --key of another.`,
		Example: "  loom key add phone --new phone.nk --reason \"a second device\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := by.Check(cmd); err != nil {
				return err
			}
			k, made, err := keyOf(args[0], fresh, public, passkey)
			if err != nil {
				return err
			}
			if err := keyring.CheckKey(k); err != nil {
				return unmade(made, false, err)
			}
			taken, err := a.change(cmd.Context(), &by, k.Name, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: k, Reason: by.Reason}}})
			return unmade(made, taken, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&fresh, "new", "", "make the key in this `FILE`, if it is not there")
	f.StringVar(&public, "public", "", "its public `KEY`, U...")
	f.StringVar(&passkey, "passkey", "", "`FILE` of a WebAuthn credential")
	by.Add(cmd)
	return cmd
}

// unmade takes away the file of a key that was made for an order which nobody has taken,
// and returns why.
func unmade(file string, taken bool, err error) error {
	if file != "" && err != nil && !taken {
		_ = os.Remove(file)
	}
	return err
}

// keyOf returns the key to enrol, and the file that was made for it; of the flags one says
// what it is.
func keyOf(name, fresh, public, passkey string) (_ *loomv1.SigningKey, made string, err error) {
	given := slices.DeleteFunc([]string{fresh, public, passkey}, func(s string) bool { return s == "" })
	if len(given) != 1 {
		return nil, "", fault.New("usage/argument", "which key it is, %d flags say", len(given)).At("NAME").Want("one of --new, --public and --passkey")
	}
	if passkey != "" {
		k, err := readPasskey(name, passkey)
		return k, "", err
	}
	if fresh != "" {
		if err := keyring.CheckName(name); err != nil { // before a file is made
			return nil, "", err
		}
		k, created, err := ceokey.OpenOrCreate(fresh)
		if err != nil {
			return nil, "", err
		}
		if public = k.Public(); created {
			made = fresh
		}
	}
	raw, err := ceokey.Parse(public)
	return &loomv1.SigningKey{Name: name, PublicKey: raw}, made, err
}

// mostPasskey bounds the file of a credential.
const mostPasskey = 16 << 10

func readPasskey(name, file string) (*loomv1.SigningKey, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.New("usage/argument", "the credential cannot be read").At(file).Because(err)
	}
	defer f.Close()
	var c struct {
		RelyingParty string `json:"relying_party"`
		Origin       string `json:"origin"`
		Credential   []byte `json:"credential"`
		PublicKey    []byte `json:"public_key"`
	}
	d := json.NewDecoder(io.LimitReader(f, mostPasskey))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fault.New("key/invalid", "not a credential in JSON: %s", err).At(file).Want("relying_party, origin, credential and public_key, the last two in base64")
	}
	return &loomv1.SigningKey{
		Name: name, PublicKey: c.PublicKey, Passkey: &loomv1.Passkey{RelyingParty: c.RelyingParty, Origin: c.Origin, Credential: c.Credential},
	}, nil
}

func (a *Commands) revoke() *cobra.Command {
	var by approval.OrderFlags
	cmd := &cobra.Command{
		Use: "revoke KEY [flags]", Short: "have a key sign no more", Args: console.Takes("KEY"),
		Long: `Revoke has a key sign no more, by an order that another key has signed: from
there on what it signs is refused, also what it signed before and presents
later. What was accepted stays. No key revokes itself, so one that works is
always left. With three keys or more, two others have to sign it.`,
		Example: "  loom key revoke laptop --key phone.nk --reason \"it was stolen\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := by.Check(cmd); err != nil {
				return err
			}
			_, err := a.change(cmd.Context(), &by, args[0], &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_RevokeKey{RevokeKey: &loomv1.RevokeKey{Name: args[0], Reason: by.Reason}}})
			return err
		},
	}
	by.Add(cmd)
	return cmd
}

// change has every project take a signed order about the keys, that of the deployment
// first: what that refuses, none is asked. Given again, it goes on where it was ended. It
// reports whether it was taken, or may have been: nobody knows where no answer came.
func (a *Commands) change(ctx context.Context, by *approval.OrderFlags, name string, cmd *loomv1.CeoCommand) (taken bool, err error) {
	key, err := approval.OpenKey(by.Key)
	if err != nil {
		return false, err
	}
	err = a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		ceo, err := client.OpenCEO(a.Target())
		if err != nil {
			return err
		}
		defer ceo.Close()
		var errs []error
		for _, id := range append([]string{project.System}, about.Projects...) {
			err := approval.Give(ctx, ceo, key, about.Deployment, id, cmd)
			taken = taken || !refused(err)
			if err != nil {
				err = fault.From(err).At("project " + id)
			}
			if errs = append(errs, err); err != nil && id == project.System {
				break
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return a.tell(ctx, c, name, cmd)
	})
	return taken, err
}

// refused reports whether an order was not taken for sure.
func refused(err error) bool {
	switch fault.Status(err) {
	case fault.Usage, fault.Invalid, fault.Refused, fault.Conflict, fault.Limit:
		return true
	}
	return false
}

// tell says what became of a change.
func (a *Commands) tell(ctx context.Context, c *client.Client, name string, cmd *loomv1.CeoCommand) error {
	v, err := c.Key(ctx, &loomv1.Query{Project: project.System})
	if err != nil {
		return err
	}
	for _, p := range v.KeyChanges {
		if p.Enrol.GetKey().GetName() == name && cmd.GetEnrolKey() != nil || p.Revoke.GetName() == name && cmd.GetRevokeKey() != nil {
			return a.Print(p, func(w io.Writer) {
				fmt.Fprintf(w, "%s: signed by %s; another key has to sign the same, with --key of it\n", name, p.By)
			})
		}
	}
	for _, k := range v.Keys {
		if k.Name == name {
			return a.Print(k, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s\n", name, map[bool]string{true: "signs in the CEO's name from now on", false: "signs no more"}[k.RevokedAt == nil])
			})
		}
	}
	return fault.New("key/unknown", "no such key").At("NAME").Got(name)
}
