package broker_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/broker"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	"github.com/loomrun/loom/internal/journal/journaltest"
	"github.com/loomrun/loom/internal/natsjournal"
)

// kinds are the users that connect over TCP.
var kinds = []string{"anonymous", "publisher", "operator", "ceo"}

// seed makes a user key.
func seed(t *testing.T) (public string, sign func([]byte) ([]byte, error)) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err = pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public, pair.Sign
}

// open is a broker that listens, and a way to connect to it as each kind.
type open struct {
	*broker.Broker
	path    string
	options map[string][]nats.Option
}

func listen(t *testing.T) open {
	t.Helper()
	public, sign := seed(t)
	path := t.TempDir()
	b, _ := start(t, path, broker.Config{
		Listen: "127.0.0.1:0", Publishers: []broker.Publisher{{Name: "ci", Key: public}},
	})
	return open{b, path, map[string][]nats.Option{
		"anonymous": nil,
		"publisher": {nats.Nkey(public, sign), nats.CustomInboxPrefix("_INBOX_publisher_ci")},
	}}
}

// as connects as a user of a kind.
func (o open) as(t *testing.T, kind string) *nats.Conn {
	t.Helper()
	var nc *nats.Conn
	var err error
	switch kind {
	case "operator":
		nc, err = broker.Dial(o.path)
	case "ceo":
		nc, err = broker.DialCEO(o.path)
	default:
		nc, err = nats.Connect(o.URL(), o.options[kind]...)
	}
	if err != nil {
		t.Fatalf("connect as %s: %v", kind, err)
	}
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // see LastError
	t.Cleanup(nc.Close)
	return nc
}

// cell is one question to the server: may this kind do that to this subject?
type cell struct {
	subject            string
	publish, subscribe string // the kinds that may, in the order of kinds
}

const (
	clients  = "anonymous publisher operator"
	nobody   = ""
	operator = "operator"
)

// matrix has every family of subjects, and the server's own. It is written out
// and not computed from the table of rights, so that neither can be wrong
// alone.
var matrix = []cell{
	{"loom.v1.task.p", clients, nobody},
	{"loom.v1.task.p.more", nobody, nobody},
	{"loom.v1.error.web", clients, nobody},
	{"loom.v1.svc.submit", clients, nobody},
	{"loom.v1.svc.report", clients, nobody},
	{"loom.v1.svc.notices", clients, nobody},
	{"loom.v1.svc.bead", operator, nobody},
	{"loom.v1.svc.execution", operator, nobody},
	{"loom.v1.svc.history", operator, nobody},
	{"loom.v1.svc.inbox", operator, nobody},
	{"loom.v1.svc.graph", operator, nobody},
	{"loom.v1.svc.lock", operator, nobody},
	{"loom.v1.svc.project", operator, nobody},
	{"loom.v1.svc.host", operator, nobody},
	{"loom.v1.svc.scale", operator, nobody},
	{"loom.v1.notice.00.p.p-1.bead-filed", nobody, clients},
	{"loom.v1.notice.>", nobody, clients},
	{"loom.v1.live.p.p-1", nobody, clients},
	{"loom.v1.live.>", nobody, clients},
	{"loom.v1.journal.00", nobody, nobody},
	{"loom.v1.work.qa.any.normal.p-1-x1-a1-g1", nobody, nobody},
	{"loom.v1.dlq.tasks", nobody, nobody},
	{"loom.v1.actor.h1.1", nobody, nobody},
	{"loom.v1.name.lock", nobody, nobody},
	{"loom.v1.ceo.ann.approve", "ceo", nobody},
	{"loom.v1.ceo.ann.approve.more", nobody, nobody},
	{"loom.v1.>", nobody, nobody},
	{">", nobody, nobody},
	{"*.>", nobody, nobody},
	{"_INBOX.>", nobody, "anonymous"},
	{"_INBOX.x", nobody, "anonymous"},
	{"_INBOX_operator.>", nobody, operator},
	{"_INBOX_operator.x", nobody, operator},
	{"_INBOX_publisher_ci.x", nobody, "publisher"},
	{"_INBOX_publisher_other.x", nobody, nobody},
	{"_INBOX_host.x", nobody, nobody},
	{"_INBOX_ceo.x", nobody, "ceo"},
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
	{"$JS.API.CONSUMER.PAUSE.TASKS.intake", nobody, nobody},
	{"$JS.ACK.TASKS.intake.1.1.1.1.0", nobody, nobody},
	{"$JS.FC.TASKS.x", nobody, nobody},
	{"$JS.EVENT.ADVISORY.>", nobody, nobody},
	{"$SRV.PING", nobody, nobody},
	{"$SRV.STATS", nobody, nobody},
	{"$SYS.REQ.SERVER.PING", nobody, nobody},
	{"$SYS.ACCOUNT.CORE.CONNECT", nobody, nobody},
	{"$SYS.>", nobody, nobody},
	{"anything.else", nobody, nobody},
}

func TestSEC01_PermissionsCellByCell(t *testing.T) {
	o := listen(t)
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
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s %q", words, subj)) {
		return nil
	}
	return err
}

func TestSEC01_CredentialsAreNeeded(t *testing.T) {
	stranger, sign := seed(t)
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
	b, _ := start(t, path, broker.Config{Listen: "0.0.0.0:0"})
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

// targets are reply subjects by which an attacker would make the server, or a
// service, write or call where the attacker itself may not.
var targets = []string{
	"loom.v1.journal.00", "loom.v1.journal.01", "loom.v1.work.qa.any.normal.p-1-x1-a1-g1", "loom.v1.dlq.tasks",
	"loom.v1.notice.00.p.p-1.bead-filed", "loom.v1.live.p.p-1", "loom.v1.ceo.ann.approve", "loom-proof",
	"loom.v1.svc.scale", "loom.v1.svc.submit", "loom.v1.actor.h1.1", "loom.v1.name.lock",
	"$O.LOOM_BLOB.C.x", "$O.LOOM_BLOB.M.x", "$KV.x.y",
	"$JS.API.STREAM.PURGE.TASKS", "$JS.API.STREAM.DELETE.TASKS", "$JS.API.STREAM.PURGE.LOOM_J_00", "$JS.API.STREAM.DELETE.LOOM_J_00",
	"$JS.API.STREAM.UPDATE.TASKS", "$JS.API.CONSUMER.DELETE.TASKS.intake", "$JS.API.CONSUMER.CREATE.TASKS",
	"$JS.API.CONSUMER.MSG.NEXT.TASKS.intake", "$JS.ACK.TASKS.intake.1.1.1.1.0",
	"_INBOX_operator.x", "_INBOX_host.x",
}

// TestSEC01_ReplySubjectsReachNothing is the attack on the journal: a client
// publishes what it may, and names as its reply subject what it may not.
func TestSEC01_ReplySubjectsReachNothing(t *testing.T) {
	o := listen(t)
	ctx := t.Context()
	log, err := natsjournal.New(ctx, o.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	head := journaltest.Fill(t, log, journal.Head{}, 3)
	stray := make(chan string, 1000)
	// The service answers in the three ways there are: a body, an empty body
	// (which is what the server's own interface takes for a plain request),
	// and an error.
	for i, reply := range []func() ([]byte, error){
		func() ([]byte, error) { return []byte(`{"seq":3}`), nil },
		func() ([]byte, error) { return nil, nil },
		func() ([]byte, error) { return nil, fault.New("request/denied", "no") },
	} {
		name := []string{"submit", "report", "notices"}[i]
		if err := o.Serve(name, func(_ context.Context, r broker.Request) ([]byte, error) { return reply() }); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Serve("scale", func(_ context.Context, r broker.Request) ([]byte, error) {
		stray <- "service scale was called by " + r.Who.String()
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := o.ServeCEO(func(_ context.Context, r broker.Request) ([]byte, error) {
		stray <- "a CEO's command arrived on " + r.Subject
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	watch(t, o, stray)
	before := states(t, o)
	sent := 0
	for _, kind := range []string{"anonymous", "publisher"} {
		nc := o.as(t, kind)
		for _, from := range []string{"loom.v1.task.p", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"} {
			for _, target := range targets {
				if err := nc.PublishRequest(from, target, []byte(`{"seq":1}`)); err != nil {
					t.Fatal(err)
				}
				sent++
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		// What was sent before it has been handled when this is answered.
		for _, from := range []string{"loom.v1.task.last", "loom.v1.svc.submit", "loom.v1.svc.report"} {
			if _, err := nc.Request(from, []byte("last"), 5*time.Second); err != nil {
				t.Fatalf("%s after the attack: %v", from, err)
			}
		}
	}
	settleDown(t, o)
	after := states(t, o)
	for name, was := range before {
		if now := after[name]; now.LastSeq != was.LastSeq && name != "TASKS" || now.FirstSeq < was.FirstSeq || now.Msgs < was.Msgs {
			t.Errorf("stream %s was %+v and is %+v", name, was, now)
		}
	}
	if grown := after["TASKS"].Msgs - before["TASKS"].Msgs; grown < uint64(2*2*(len(targets)-1)) {
		t.Errorf("only %d of %d messages were stored: the attack did not take place", grown, sent)
	}
	select {
	case what := <-stray:
		t.Error(what)
	default:
	}
	if seq, err := log.Append(ctx, 3, journaltest.Batch(head, "after", "")); seq != 4 || err != nil {
		t.Errorf("compare-and-set after the attack: %d, %v; want 4", seq, err)
	}
}

// watch tells of everything that arrives in the core and control accounts that
// nobody there has sent. What is imported for the services does arrive, without
// a reply subject: their handlers must not be called for it.
func watch(t *testing.T, o open, stray chan string) {
	t.Helper()
	for account, nc := range map[string]*nats.Conn{"CORE": o.Core(), "CONTROL": o.Control()} {
		if _, err := nc.Subscribe("loom.v1.>", func(m *nats.Msg) {
			if !strings.HasPrefix(m.Subject, "loom.v1.svc.") || m.Subject == "loom.v1.svc.scale" && m.Reply != "" {
				stray <- fmt.Sprintf("%s: %q arrived on %s", account, m.Data, m.Subject)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// settleDown waits until the services have answered what was sent before.
func settleDown(t *testing.T, o open) {
	t.Helper()
	for _, nc := range []*nats.Conn{o.Core(), o.Edge(), o.Control()} {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

func states(t *testing.T, o open) map[string]jetstream.StreamState {
	t.Helper()
	all := map[string]jetstream.StreamState{}
	for _, nc := range []*nats.Conn{o.Core(), o.Edge()} {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		list := js.ListStreams(t.Context())
		for info := range list.Info() {
			all[info.Config.Name] = info.State
		}
		if list.Err() != nil {
			t.Fatal(list.Err())
		}
	}
	if len(all) != 9 {
		t.Fatalf("there are %d streams, want 9", len(all))
	}
	return all
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
