package broker

import (
	"context"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Heard says whether anybody on any host listens to the notice of e. On servers
// that somebody else runs that cannot be asked, and it is true.
func (b *Broker) Heard(e *loomv1.Event) bool {
	if b.server == nil {
		return true
	}
	about, err := notice.About(e)
	if err != nil {
		return true // so that publishing says what is wrong
	}
	account, err := b.server.LookupAccount(core)
	return err != nil || account.SubscriptionInterest(subject.Notice(about))
}

// PublishNotice sends a notice to whoever listens, at most once. It is kept
// nowhere: the journal has the event, and its observers read there what they
// missed.
func (b *Broker) PublishNotice(ctx context.Context, n *loomv1.Notice) error {
	about, err := notice.About(n.GetEvent())
	if err != nil {
		return err
	}
	data, err := proto.Marshal(n)
	if err != nil {
		return fault.New("internal/error", "notice cannot be encoded").Because(err)
	}
	if err := b.Core().PublishMsg(&nats.Msg{Subject: subject.Notice(about), Data: data, Header: notice.Headers(n)}); err != nil {
		return fault.New("host/unavailable", "the notice is not published").Because(err)
	}
	return ctx.Err()
}
