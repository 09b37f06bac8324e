package vault

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Act is an act of a person, or something that was permitted or refused, with
// its place in the journals.
type Act struct {
	Position string    `json:"position"`
	Time     time.Time `json:"time"`
	Project  string    `json:"project"`
	Bead     string    `json:"bead,omitempty"`
	Kind     string    `json:"kind"`
	Who      string    `json:"who"`
	// Key is the name of the CEO's key that signed it.
	Key    string `json:"key,omitempty"`
	What   string `json:"what"`
	Why    string `json:"why,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Signature is "valid", "none" where none belongs, or what is wrong.
	Signature string `json:"signature"`
}

// Audit is what auditing a data directory found.
type Audit struct {
	Deployment string `json:"deployment"`
	Sound      bool   `json:"sound"`
	Acts       []Act  `json:"acts"`
	// Signed counts the acts whose signature is valid.
	Signed int `json:"signed"`
	// Notes tell of acts that are not here, because a journal was cut.
	Notes  []string       `json:"notes,omitempty"`
	Damage []*fault.Error `json:"-"`
}

// Err returns all that is wrong as one error, or nil.
func (a *Audit) Err() error { return fault.Join(a.Damage) }

// Audit walks every journal, and lists the acts in it in the order of time. An
// act that is not in a chain that holds is not listed: that the chain breaks is
// damage. The error is ctx's, or says that the CEO's key cannot be read.
func (s *Store) Audit(ctx context.Context) (*Audit, error) {
	keys, err := s.keys()
	if err != nil {
		return nil, err
	}
	a := &Audit{Deployment: s.Manifest.Deployment}
	shown := newDiffs()
	auditor := &project.Auditor{Deployment: s.Manifest.Deployment, Roots: keys}
	for p := range s.Manifest.Partitions {
		if !s.created(natsjournal.Stream(p)) {
			continue
		}
		s.say("reading " + natsjournal.Stream(p))
		base, err := s.base(ctx, p)
		if err != nil {
			a.Damage = append(a.Damage, fault.From(err))
		}
		for _, b := range base.GetProjects() {
			auditor.Begin(b.Project, b.State)
			shown.begin(b.State)
		}
		found, err := s.walk(ctx, p, func(seq uint64, b *loomv1.Batch) error {
			for i, e := range b.Events {
				shown.look(e)
				a.look(auditor, &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}, e)
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if found.Cut > 0 {
			a.Notes = append(a.Notes, fmt.Sprintf("%s was cut at %d: what people did before is in archive %s", found.Stream, found.Cut, found.Archive))
		}
		if err != nil {
			a.Damage = append(a.Damage, fault.From(err))
		}
	}
	damage, err := shown.damage(ctx, s)
	if err != nil {
		return nil, err
	}
	a.Damage = append(a.Damage, damage...)
	slices.SortStableFunc(a.Acts, func(x, y Act) int { return x.Time.Compare(y.Time) })
	a.Sound = len(a.Damage) == 0
	return a, nil
}

// keys returns the first keys of the deployment, that of now and former ones.
func (s *Store) keys() ([]ed25519.PublicKey, error) {
	if s.Manifest.CEO == "" {
		return nil, nil
	}
	var keys []ed25519.PublicKey
	for _, public := range append([]string{s.Manifest.CEO}, s.Manifest.Former...) {
		key, err := ceokey.Parse(public)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// look adds the act that an event records, if it records one.
func (a *Audit) look(auditor *project.Auditor, at *loomv1.Position, e *loomv1.Event) {
	found := auditor.Look(e)
	if found == nil {
		return
	}
	act := Act{
		Position: notice.FormatCursor(&loomv1.Cursor{Positions: []*loomv1.Position{at}}), Time: e.Time.AsTime(), Project: e.Project, Bead: e.Bead, Kind: found.Kind,
		Who: who(e.Actor), What: found.What, Why: found.Why, Digest: found.Digest, Key: found.By, Signature: "none",
	}
	switch {
	case found.Err != nil:
		act.Signature = fault.From(found.Err).Message
		a.Damage = append(a.Damage, fault.New("approval/signature", "%s at %s: %s", found.Kind, act.Position, act.Signature).At(act.Position))
	case found.Signed:
		act.Signature = "valid"
		a.Signed++
	}
	a.Acts = append(a.Acts, act)
}

// who names an identity for a person.
func who(i *loomv1.Identity) string {
	names := map[loomv1.IdentityKind]string{
		loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS: "anonymous", loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER: "publisher",
		loomv1.IdentityKind_IDENTITY_KIND_OPERATOR: "operator", loomv1.IdentityKind_IDENTITY_KIND_CEO: "ceo",
		loomv1.IdentityKind_IDENTITY_KIND_HOST: "host", loomv1.IdentityKind_IDENTITY_KIND_AGENT: "agent",
	}
	kind, ok := names[i.GetKind()]
	switch {
	case !ok:
		return "nobody"
	case i.GetName() == "", i.GetName() == kind:
		return kind
	}
	return kind + " " + i.GetName()
}
