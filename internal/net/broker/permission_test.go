package broker_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
)

// kinds are the users that connect over TCP. The last five are identities that
// were added to the running deployment.
var kinds = []string{"anonymous", "operator", "ceo", "publisher", "narrow", "observer", "ann", "worker"}

// added are the identities among them.
var added = map[string]identity.Request{
	"publisher": {Name: "ci", Kind: identity.Publisher},
	"narrow":    {Name: "shopper", Kind: identity.Publisher, Projects: []string{"shop"}},
	"observer":  {Name: "eve", Kind: identity.Observer},
	"ann":       {Name: "ann", Kind: identity.CEO},
	"worker":    {Name: "w1", Kind: identity.Worker, Roles: []string{"qa"}},
}

// open is a broker that listens, and a way to connect to it as each kind.
type open struct {
	*broker.Broker
	path    string
	secrets map[string]identity.Secrets
}

func listen(t *testing.T) open {
	t.Helper()
	path := t.TempDir()
	b, _ := start(t, path, broker.Config{Listen: "127.0.0.1:0"})
	o := open{b, path, map[string]identity.Secrets{}}
	for kind, request := range added {
		_, secrets, err := identity.Add(t.Context(), o.store(), request, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		o.secrets[kind] = secrets
	}
	return o
}

// store is where the identities are.
func (o open) store() identity.Store { return identity.NewFile(o.path) }

// as connects as a user of a kind.
func (o open) as(t *testing.T, kind string) *nats.Conn {
	t.Helper()
	nc, err := o.dial(t, kind)
	if err != nil {
		t.Fatalf("connect as %s: %v", kind, err)
	}
	return nc
}

// dial connects as a user of a kind, or as the CEO's way in, "control". A
// running host takes note of an identity within two seconds.
func (o open) dial(t *testing.T, kind string, options ...nats.Option) (nc *nats.Conn, err error) {
	t.Helper()
	switch kind {
	case "operator":
		nc, err = broker.Dial(o.path)
	case "ceo":
		nc, err = broker.DialCEO(o.path)
	case "anonymous":
		nc, err = nats.Connect(o.URL(), options...)
	case "control":
		nc, err = o.with(t, o.secrets["ann"].Control, broker.Inbox("ceo", "ann"), options...)
	default:
		nc, err = o.with(t, o.secrets[kind].Seed, broker.Inbox(string(added[kind].Kind), added[kind].Name), options...)
	}
	if err == nil {
		nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // see LastError
		t.Cleanup(nc.Close)
	}
	return nc, err
}

// with connects with a key. The host notes within two seconds that there is
// one; until then it refuses it.
func (o open) with(t *testing.T, seed []byte, inbox string, options ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(inbox))
	return until(t, func() (*nats.Conn, error) { return nats.Connect(o.URL(), options...) })
}

// until tries again what fails, for a minute.
func until(t *testing.T, try func() (*nats.Conn, error)) (*nats.Conn, error) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(time.Minute)
	for {
		nc, err := try()
		if err == nil {
			return nc, nil
		}
		select {
		case <-look.C:
		case <-late:
			return nil, err
		}
	}
}

// cell is one question to the server: may this kind do that to this subject?
type cell struct {
	subject            string
	publish, subscribe string // the kinds that may, in the order of kinds
}

const (
	writers  = "anonymous publisher operator"
	all      = writers + " narrow"
	readers  = "operator observer ann"
	everyone = all + " " + readers
	nobody   = ""
	operator = "operator"
)

// matrix has every family of subjects, and the server's own. It is written out
// and not computed from the table of rights, so that neither can be wrong
// alone.
var matrix = []cell{
	{"loom.v1.task.p", writers, nobody},
	{"loom.v1.task.shop", all, nobody},
	{"loom.v1.task.p.more", nobody, nobody},
	{"loom.v1.error.web", writers, nobody},
	{"loom.v1.svc.submit", all, nobody},
	{"loom.v1.svc.report", all, nobody},
	{"loom.v1.svc.notices", everyone, nobody},
	{"loom.v1.svc.bead", readers, nobody},
	{"loom.v1.svc.execution", readers, nobody},
	{"loom.v1.svc.history", readers, nobody},
	{"loom.v1.svc.inbox", readers, nobody},
	{"loom.v1.svc.graph", readers, nobody},
	{"loom.v1.svc.lock", readers, nobody},
	{"loom.v1.svc.project", readers, nobody},
	{"loom.v1.svc.host", readers, nobody},
	{"loom.v1.svc.hosts", readers, nobody},
	{"loom.v1.svc.cluster", readers, nobody},
	{"loom.v1.svc.scale", operator, nobody},
	{"loom.v1.svc.members", operator, nobody},
	{"loom.v1.svc.ask", readers, nobody},
	{"loom.v1.svc.update", operator, nobody},
	{"loom.v1.svc.decide", operator, nobody},
	{"loom.v1.svc.fork", operator, nobody},
	{"loom.v1.svc.anything", operator, nobody},
	{"loom.v1.notice.p.p-1.p-1.bead-filed.-.-.-", nobody, writers + " " + readers},
	{"loom.v1.notice.shop.shop-1.shop-1.bead-filed.-.-.-", nobody, everyone},
	{"loom.v1.notice.p.>", nobody, writers + " " + readers},
	{"loom.v1.notice.shop.>", nobody, everyone},
	{"loom.v1.notice.>", nobody, writers + " " + readers},
	{"loom.v1.live.p.p-1.qa-engineer.qa-engineer-1", nobody, writers + " " + readers},
	{"loom.v1.live.shop.shop-1.qa-engineer.qa-engineer-1", nobody, everyone},
	{"loom.v1.live.shop.>", nobody, everyone},
	{"loom.v1.live.>", nobody, writers + " " + readers},
	{"loom.v1.journal.00", nobody, nobody},
	{"loom.v1.work.qa.any.normal.p-1-x1-a1-g1", nobody, nobody},
	{"loom.v1.seat", "worker", nobody},
	{"loom.v1.leaf.w1", "worker", nobody},
	{"loom.v1.leaf.w2", nobody, nobody},
	{"loom.v1.hears", nobody, nobody},
	{"loom.v1.dlq.tasks", nobody, nobody},
	{"loom.v1.actor.h1.1", nobody, nobody},
	{"loom.v1.name.lock", nobody, nobody},
	{"loom.v1.ceo.ceo.approve", "ceo", nobody},
	{"loom.v1.ceo.ann.approve", "control", nobody},
	{"loom.v1.ceo.ann.approve.more", nobody, nobody},
	{"loom.v1.>", nobody, nobody},
	{">", nobody, nobody},
	{"*.>", nobody, nobody},
	{"_INBOX.>", nobody, "anonymous"},
	{"_INBOX.x", nobody, "anonymous"},
	{"_INBOX_operator.>", nobody, operator},
	{"_INBOX_operator.x", nobody, operator},
	{"_INBOX_publisher_ci.x", nobody, "publisher"},
	{"_INBOX_publisher_shopper.x", nobody, "narrow"},
	{"_INBOX_publisher_other.x", nobody, nobody},
	{"_INBOX_host.x", nobody, nobody},
	{"_INBOX_ceo.x", nobody, "ceo"},
	{"_INBOX_ceo_ann.x", nobody, "ann control"},
	{"_INBOX_observer_eve.x", nobody, "observer"},
	{"_INBOX_worker_w1.x", nobody, "worker"},
	{"_R_.>", nobody, nobody},
	{"loom-proof", nobody, nobody},
	{"$O.LOOM_BLOB.C.x", nobody, nobody},
	{"$O.LOOM_BLOB.M.x", nobody, nobody},
	{"$KV.anything.x", nobody, nobody},
	{"$JS.API.INFO", nobody, nobody},
	{"$JS.API.STREAM.NAMES", nobody, nobody},
	{"$JS.API.STREAM.LIST", nobody, nobody},
	{"$JS.API.STREAM.INFO.TASKS", nobody, nobody},
	{"$JS.API.STREAM.INFO.LOOM_J_00", nobody, nobody},
	{"$JS.API.STREAM.CREATE.MINE", nobody, nobody},
	{"$JS.API.STREAM.UPDATE.TASKS", nobody, nobody},
	{"$JS.API.STREAM.DELETE.TASKS", nobody, nobody},
	{"$JS.API.STREAM.PURGE.TASKS", nobody, nobody},
	{"$JS.API.STREAM.PURGE.LOOM_J_00", nobody, nobody},
	{"$JS.API.STREAM.UPDATE.LOOM_J_00", nobody, nobody},
	{"$JS.API.STREAM.SNAPSHOT.TASKS", nobody, nobody},
	{"$JS.API.STREAM.RESTORE.TASKS", nobody, nobody},
	{"$JS.API.STREAM.MSG.GET.TASKS", nobody, nobody},
	{"$JS.API.STREAM.MSG.DELETE.TASKS", nobody, nobody},
	{"$JS.API.DIRECT.GET.TASKS", nobody, nobody},
	{"$JS.API.CONSUMER.CREATE.TASKS", nobody, nobody},
	{"$JS.API.CONSUMER.CREATE.TASKS.x", nobody, nobody},
	{"$JS.API.CONSUMER.DURABLE.CREATE.TASKS.x", nobody, nobody},
	{"$JS.API.CONSUMER.DELETE.TASKS.intake", nobody, nobody},
	{"$JS.API.CONSUMER.LIST.TASKS", nobody, nobody},
	{"$JS.API.CONSUMER.MSG.NEXT.TASKS.intake", nobody, nobody},
	{"$JS.API.CONSUMER.MSG.NEXT.WORK.qa", "worker", nobody},
	{"$JS.API.CONSUMER.MSG.NEXT.WORK.lead", nobody, nobody},
	{"$JS.API.CONSUMER.MSG.NEXT.LOOM_J_00.qa", nobody, nobody},
	{"$JS.ACK.WORK.qa.1.1.1.1.0", "worker", nobody},
	{"$JS.ACK.WORK.lead.1.1.1.1.0", nobody, nobody},
	{"$JS.API.CONSUMER.PAUSE.TASKS.intake", nobody, nobody},
	{"$JS.ACK.TASKS.intake.1.1.1.1.0", nobody, nobody},
	{"$JS.FC.TASKS.x", nobody, nobody},
	{"$JS.EVENT.ADVISORY.>", nobody, nobody},
	{"$SRV.PING", nobody, nobody},
	{"$SRV.STATS", nobody, nobody},
	{"$SYS.REQ.SERVER.PING", nobody, nobody},
	{"$SYS.ACCOUNT.CORE.CONNECT", nobody, nobody},
	{"$SYS.>", nobody, nobody},
	{"loom.v1.stray.notice.p.p-1", nobody, nobody},
	{"loom.v1.stray.>", nobody, nobody},
	{"anything.else", nobody, nobody},
}

func TestSEC01_PermissionsCellByCell(t *testing.T) {
	listen(t).holdToMatrix(t, append(slices.Clone(kinds), "control"))
}

// holdToMatrix has each kind try everything.
func (o open) holdToMatrix(t *testing.T, kinds []string) {
	t.Helper()
	for _, kind := range kinds {
		nc := o.as(t, kind)
		for _, c := range matrix {
			may := func(list string) bool { return strings.Contains(" "+list+" ", " "+kind+" ") }
			if !strings.ContainsAny(c.subject, "*>") {
				check(t, kind, "publish", c.subject, may(c.publish), attempt(t, nc, "Publish to", c.subject, func() error {
					return nc.Publish(c.subject, []byte("x"))
				}))
			}
			check(t, kind, "subscribe", c.subject, may(c.subscribe), attempt(t, nc, "Subscription to", c.subject, func() error {
				_, err := nc.SubscribeSync(c.subject)
				return err
			}))
		}
	}
}

func check(t *testing.T, kind, verb, subj string, may bool, refused error) {
	t.Helper()
	if may != (refused == nil) {
		t.Errorf("%s may %s %s: %t (%v), want %t", kind, verb, subj, refused == nil, refused, may)
	}
}

// attempt returns the server's refusal of what do did, which begins with words,
// or nil. The server answers in order, so after the flush a refusal has come
// or does not.
func attempt(t *testing.T, nc *nats.Conn, words, subj string, do func() error) error {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	err := nc.LastError() // the last of all, so it may be of an earlier attempt
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s %q", words, subj)) && !strings.Contains(err.Error(), fmt.Sprintf("%s %q", words, stray(subj))) {
		return nil
	}
	return err
}

// stray is what the server makes of the subject of a notice before it refuses
// that a client publishes it.
func stray(subj string) string {
	for _, kind := range []string{"notice.", "live."} {
		if rest, ok := strings.CutPrefix(subj, "loom.v1."+kind); ok {
			return "loom.v1.stray." + kind + rest
		}
	}
	return subj
}

func TestSEC01_CredentialsAreNeeded(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	sign := pair.Sign
	for _, tt := range []struct {
		name    string
		config  broker.Config
		options []nats.Option
		in      bool
	}{
		{"nobody, loopback", broker.Config{}, nil, true},
		{"nobody, auth required", broker.Config{RequireAuth: true}, nil, false},
		{"a stranger's key", broker.Config{}, []nats.Option{nats.Nkey(stranger, sign)}, false},
		{"a password", broker.Config{}, []nats.Option{nats.UserInfo("host", "host")}, false},
		{"anonymous by name, auth required", broker.Config{RequireAuth: true}, []nats.Option{nats.UserInfo("anonymous", "")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.Listen = "127.0.0.1:0"
			path := t.TempDir()
			b, _ := start(t, path, tt.config)
			nc, err := nats.Connect(b.URL(), tt.options...)
			if (err == nil) != tt.in {
				t.Errorf("Connect: %v, want in: %t", err, tt.in)
			}
			if err == nil {
				nc.Close()
			}
			if nc, err = broker.Dial(path); err != nil {
				t.Errorf("the operator is not let in: %v", err)
				return
			}
			nc.Close()
		})
	}
}

func TestSEC01_AnonymousOnlyOnLoopback(t *testing.T) {
	path := t.TempDir()
	b, _ := start(t, path, broker.Config{Listen: "0.0.0.0:0", Insecure: true})
	url := strings.Replace(b.URL(), "0.0.0.0", "127.0.0.1", 1)
	if nc, err := nats.Connect(url); err == nil {
		nc.Close()
		t.Error("a client without credentials is let in at 0.0.0.0")
	}
}

func TestSEC01_CredentialFilesAreTheOwnersAlone(t *testing.T) {
	o := listen(t)
	for _, name := range []string{"creds/operator.nk", "creds/ceo.nk", "host.json"} {
		info, err := os.Stat(o.path + "/" + name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", name, info, err)
		}
	}
	for _, name := range []string{"creds", "jetstream"} {
		info, err := os.Stat(o.path + "/" + name)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", name, info, err)
		}
	}
}

func TestSEC01_WhoIsAskingIsStampedByTheServer(t *testing.T) {
	o := listen(t)
	if err := o.Serve("submit", func(_ context.Context, r broker.Request) ([]byte, error) {
		return []byte(r.Who.Kind.String() + " " + r.Who.Name), nil
	}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"anonymous": "IDENTITY_KIND_ANONYMOUS anonymous",
		"publisher": "IDENTITY_KIND_PUBLISHER ci",
		"operator":  "IDENTITY_KIND_OPERATOR operator",
		"narrow":    "IDENTITY_KIND_PUBLISHER shopper",
	} {
		nc := o.as(t, kind)
		for _, forged := range []string{"", `{"acc":"CORE","user":"host"}`, `{"acc":"EDGE","user":"` + "operator" + `"}`, "x"} {
			m := nats.NewMsg("loom.v1.svc.submit")
			if forged != "" {
				m.Header.Set("Nats-Request-Info", forged)
			}
			answer, err := nc.RequestMsg(m, 5*time.Second)
			if err != nil || string(answer.Data) != want {
				t.Errorf("%s with header %q: %v, %v; want %q", kind, forged, answer, err, want)
			}
		}
	}
	answer, err := o.Core().Request("loom.v1.svc.submit", nil, 5*time.Second)
	if err != nil || !strings.HasPrefix(string(answer.Data), "IDENTITY_KIND_HOST h-") {
		t.Errorf("a host: %v, %v", answer, err)
	}
}
