package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// probe is something that an identity tries and may not.
type probe struct {
	kind, verb, subject string
	why                 string
}

// probes are what somebody with credentials would try first, and with those of
// another. docs/security.md lists them.
var probes = []probe{
	{"anonymous", "publish", "loom.v1.svc.update", "change a bead"},
	{"anonymous", "publish", "loom.v1.svc.bead", "read beads"},
	{"anonymous", "publish", "loom.v1.svc.scale", "scale a role"},
	{"anonymous", "publish", "loom.v1.journal.00", "write into the journal"},
	{"anonymous", "publish", "loom.v1.notice.p.p-1.p-1.bead-filed.-.-.-", "forge a notice"},
	{"anonymous", "subscribe", ">", "listen to everything"},
	{"anonymous", "subscribe", "_INBOX_operator.>", "read the operator's answers"},
	{"anonymous", "publish", "$JS.API.STREAM.PURGE.TASKS", "purge the tasks"},
	{"anonymous", "publish", "$JS.API.STREAM.MSG.GET.TASKS", "read others' tasks"},
	{"anonymous", "publish", "$SYS.REQ.SERVER.PING", "ask the server about itself"},
	{"publisher", "publish", "loom.v1.svc.update", "change a bead"},
	{"publisher", "publish", "loom.v1.svc.inbox", "read what waits for the CEO"},
	{"publisher", "publish", "loom.v1.svc.fork", "fork an execution"},
	{"publisher", "publish", "loom.v1.ceo.ann.approve", "approve"},
	{"publisher", "publish", "loom.v1.ceo.ceo.approve", "approve as the CEO of the machine"},
	{"publisher", "publish", "loom.v1.work.qa.any.normal.p-1-x1-a1-g1", "queue work of its own"},
	{"publisher", "publish", "$JS.API.CONSUMER.CREATE.TASKS", "make a consumer of others' tasks"},
	{"publisher", "subscribe", "_INBOX_publisher_other.>", "read another publisher's answers"},
	{"narrow", "publish", "loom.v1.task.p", "submit to another project"},
	{"narrow", "publish", "loom.v1.task.*", "submit to all projects at once"},
	{"narrow", "publish", "loom.v1.error.web", "report for any project"},
	{"narrow", "subscribe", "loom.v1.notice.>", "read every project's notices"},
	{"narrow", "subscribe", "loom.v1.notice.p.p-1.p-1.bead-filed.-.-.-", "read another project's notices"},
	{"narrow", "subscribe", "loom.v1.live.p.p-1.qa-engineer.qa-engineer-1", "watch another project's agents"},
	{"observer", "publish", "loom.v1.svc.submit", "submit"},
	{"observer", "publish", "loom.v1.task.p", "submit without an answer"},
	{"observer", "publish", "loom.v1.svc.update", "change a bead"},
	{"observer", "publish", "loom.v1.svc.decide", "write into the decision graph"},
	{"observer", "publish", "loom.v1.svc.scale", "scale a role"},
	{"observer", "publish", "loom.v1.ceo.eve.approve", "approve"},
	{"operator", "publish", "loom.v1.ceo.operator.approve", "approve"},
	{"operator", "publish", "loom.v1.ceo.ann.approve", "approve in another's name"},
	{"operator", "publish", "loom.v1.journal.00", "write into the journal"},
	{"operator", "publish", "$JS.API.STREAM.DELETE.TASKS", "delete the tasks"},
	{"operator", "publish", "$O.LOOM_BLOB.C.x", "change a blob"},
	{"operator", "publish", "$KV.LOOM_IDENTITIES.identities", "make itself another identity"},
	{"ann", "publish", "loom.v1.svc.update", "change a bead without a signature"},
	{"ann", "publish", "loom.v1.ceo.ann.approve", "approve from the account of clients"},
	{"control", "publish", "loom.v1.ceo.ceo.approve", "approve in another's name"},
	{"control", "publish", "loom.v1.svc.host", "ask a service from the CEO's account"},
	{"control", "subscribe", "loom.v1.ceo.>", "read the CEO's commands"},
	{"worker", "publish", "$JS.API.CONSUMER.MSG.NEXT.WORK.lead", "pull another role's work"},
	{"worker", "publish", "$JS.ACK.WORK.lead.1.1.1.1.0", "take another role's work off the queue"},
	{"worker", "publish", "$JS.API.STREAM.MSG.GET.LOOM_J_00", "read the journal"},
	{"worker", "publish", "$JS.API.CONSUMER.CREATE.LOOM_J_00", "follow the journal"},
	{"worker", "publish", "loom.v1.journal.00", "write into the journal"},
	{"worker", "publish", "loom.v1.svc.submit", "submit"},
	{"worker", "publish", "loom.v1.name.lock", "call an actor of a host"},
	{"worker", "subscribe", "loom.v1.notice.>", "read notices"},
	{"worker", "publish", "$JS.API.STREAM.PURGE.WORK", "empty the queue"},
}

// TestSEC01_FortyPermissionProbesAreRefused by a real server, one after the
// other; and a probe that were let through would be seen.
func TestSEC01_FortyPermissionProbesAreRefused(t *testing.T) {
	if len(probes) < 40 {
		t.Fatalf("there are %d probes", len(probes))
	}
	listen(t).refuseProbes(t, probes)
}

// refuseProbes has each probe tried.
func (o open) refuseProbes(t *testing.T, probes []probe) {
	t.Helper()
	conns := map[string]*nats.Conn{}
	for _, p := range probes {
		if conns[p.kind] == nil {
			conns[p.kind] = o.as(t, p.kind)
		}
		if err := p.try(t, conns[p.kind]); err == nil {
			t.Errorf("%s may %s %s: to %s", p.kind, p.verb, p.subject, p.why)
		}
	}
	allowed := probe{"observer", "publish", "loom.v1.svc.notices", "read"}
	if err := allowed.try(t, conns["observer"]); err != nil {
		t.Errorf("what is permitted is seen as refused: %v", err)
	}
	_, err := o.Edge().Request("loom.v1.svc.submit", nil, time.Second) // and nothing but the wire was asked
	if err == nil {
		t.Error("somebody serves svc.submit in this test")
	}
}

// try returns the server's refusal, or nil.
func (p probe) try(t *testing.T, nc *nats.Conn) error {
	t.Helper()
	if p.verb == "subscribe" {
		return attempt(t, nc, "Subscription to", p.subject, func() error {
			_, err := nc.SubscribeSync(p.subject)
			return err
		})
	}
	return attempt(t, nc, "Publish to", p.subject, func() error { return nc.Publish(p.subject, []byte("x")) })
}

// TestSEC01_TheProbesAreWrittenDown in docs/security.md, as they are.
func TestSEC01_TheProbesAreWrittenDown(t *testing.T) {
	var b strings.Builder
	b.WriteString("| who | tries to | by |\n|---|---|---|\n")
	names := map[string]string{"narrow": "publisher of one project", "ann": "CEO's way in, clients' side", "control": "CEO's way in"}
	for _, p := range probes {
		who := p.kind
		if n := names[who]; n != "" {
			who = n
		}
		fmt.Fprintf(&b, "| %s | %s | %s `%s` |\n", who, p.why, p.verb, p.subject)
	}
	documented(t, "probes", b.String())
}
