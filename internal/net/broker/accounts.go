package broker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// The accounts. What is in one cannot be reached from another, except for
// what is exported: a publisher can steer the server's acknowledgement into
// any stream of its own account by the reply subject it chooses, and a puller
// can do so with what it pulls. So journals share their account with nobody.
const (
	edge    = "EDGE"    // clients: submissions, services, notices
	core    = "CORE"    // hosts: journals, work, blobs
	control = "CONTROL" // the CEO's signed commands
	crew    = "WORKERS" // workers: the work of their roles
)

// accounts are those in which a host has a connection.
var accounts = []string{edge, core, control}

// What of the server's own interface workers are let through to.
const (
	nextWork = "$JS.API.CONSUMER.MSG.NEXT." + workStream + "."
	ackWork  = "$JS.ACK." + workStream + "."
)

// configuration returns the accounts in the server's own language. Nobody who
// can connect is in it but the one without credentials, without rights: who
// may come in is decided by the gate.
func configuration(anonymous bool, replicas int) string {
	named := func(account string) string {
		if account == edge {
			return nobody(anonymous)
		}
		return ""
	}
	text := accountsText(replicas, named)
	if anonymous {
		text += "no_auth_user: anonymous\n"
	}
	return text
}

// accountsText returns the accounts, each with the users that named writes for
// it.
func accountsText(replicas int, named func(account string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "system_account: %s\naccounts {\n%s {%s}\n", system, system, named(system))
	fmt.Fprintf(&b, "%s { jetstream: enabled\n%sexports: [\n", core, named(core))
	fmt.Fprintf(&b, "{service: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n",
		subject.Services(), edge, subject.EveryNotice(), edge, subject.Lives(), edge)
	fmt.Fprintf(&b, "{service: %q, response_type: stream, accounts: [%s]}\n{service: %q, accounts: [%s]}\n{service: %q, accounts: [%s]}\n]\n",
		nextWork+"*", crew, ackWork+">", crew, subject.Seat(), crew)
	fmt.Fprintf(&b, "imports: [{stream: {account: %s, subject: %q}}]}\n", crew, subject.Leaves())
	fmt.Fprintf(&b, "%s { jetstream: {max_memory: 0, max_store: %d, max_streams: 1, max_consumers: 4}\n", edge, taskBytes*replicas)
	fmt.Fprintf(&b, "limits {max_payload: %d, max_subscriptions: 65536, max_connections: 4096}\n%simports: [\n", edgePayload, named(edge))
	// share: the server stamps each request with who made it.
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}, share: true}\n", core, subject.Services())
	fmt.Fprintf(&b, "{stream: {account: %s, subject: %q}}\n{stream: {account: %s, subject: %q}}\n]}\n",
		core, subject.EveryNotice(), core, subject.Lives())
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_connections: 1024}\n%sexports: [{stream: %q, accounts: [%s]}]\nimports: [\n",
		crew, largest, named(crew), subject.Leaves(), core)
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}}\n{service: {account: %s, subject: %q}}\n", core, nextWork+"*", core, ackWork+">")
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}, share: true}\n]}\n", core, subject.Seat())
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_connections: 64}\n%s}\n}\n", control, edgePayload, named(control))
	return b.String()
}

// nobody is the user without credentials as the server knows it: by it the
// server tells clients that they need none.
func nobody(anonymous bool) string {
	if !anonymous {
		return ""
	}
	return "users: [{user: anonymous, permissions: {publish: {deny: \">\"}, subscribe: {deny: \">\"}}}]\n"
}

// edgePayload is the largest message of a client: a submission of 256 KiB and
// its headers.
const edgePayload = 256<<10 + 16<<10

// largest is the largest message of all.
const largest = 2 << 20

// options returns the server's options; g decides who may connect.
func (c Config) options(g *gate, t *trust) (*server.Options, error) {
	options := new(server.Options)
	if err := options.ProcessConfigString(configuration(c.anonymous(), c.replicas())); err != nil {
		return nil, fault.New("internal/error", "the accounts cannot be configured").Because(err)
	}
	options.CustomClientAuthentication = g
	options.AlwaysEnableNonce = true
	options.ServerName = c.Dir.Manifest().Host
	options.NoSigs = true
	options.JetStream = true
	options.StoreDir = c.Dir.Path()
	options.SyncAlways = true
	options.JetStreamMaxMemory = memoryBytes
	options.JetStreamMaxStore = c.JournalBytes + c.BlobBytes + otherBytes
	options.MaxPayload = largest
	return options, errors.Join(c.listen(options), c.cluster(options, t))
}
