package project

import (
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// noteCut puts on record that a journal is cut.
func (d *decision) noteCut(c *loomv1.JournalCut) error {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return fault.New("command/unauthorized", "only a host cuts a journal")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_JournalCut{JournalCut: c}})
}

// maxDetail bounds what is kept of a note.
const maxDetail = 500

// noteSecurity puts on record what a host does less safely than it would.
func (d *decision) noteSecurity(n *loomv1.NoteSecurity) error {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return fault.New("command/unauthorized", "only a host notes what it does")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_SecurityNoted{SecurityNoted: &loomv1.SecurityNoted{
		What: cut(plain(n.GetWhat()), MaxKey), Detail: cut(plain(n.GetDetail()), maxDetail),
	}}})
}
