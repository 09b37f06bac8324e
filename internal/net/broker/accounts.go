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
	edge      = "EDGE"      // clients with credentials: services, notices
	strangers = "ANONYMOUS" // clients without: the same, with limits of their own
	tasked    = "TASKS"     // submissions and error reports that were published
	core      = "CORE"      // hosts: journals, work, blobs
	control   = "CONTROL"   // the CEO's signed commands
	crew      = "WORKERS"   // workers: the work of their roles
)

// accounts are those in which a host has a connection.
var accounts = []string{edge, tasked, core, control}

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
		if account == strangers {
			return nobody
		}
		return ""
	}
	clients := []string{edge}
	if anonymous {
		clients = append(clients, strangers)
	}
	text := accountsText(replicas, clients, named)
	if anonymous {
		text += "no_auth_user: anonymous\n"
	}
	return text
}

// connections are how many clients of an account may be connected at once: those
// without credentials cannot keep out the others.
var connections = map[string]int{edge: 4096, strangers: 1024, crew: 1024, control: 64}

// subscriptions are how many all clients of an account may have together.
var subscriptions = map[string]int{edge: 65536, strangers: 8192}

// accountsText returns the accounts, those of clients among them, each with the
// users that named writes for it.
func accountsText(replicas int, clients []string, named func(account string) string) string {
	var b strings.Builder
	to := strings.Join(clients, ", ")
	fmt.Fprintf(&b, "system_account: %s\naccounts {\n%s {%s}\n", system, system, named(system))
	fmt.Fprintf(&b, "%s { jetstream: enabled\n%sexports: [\n", core, named(core))
	fmt.Fprintf(&b, "{service: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n{stream: %q, accounts: [%s]}\n",
		subject.Services(), to, subject.EveryNotice(), to, subject.Lives(), to)
	fmt.Fprintf(&b, "{service: %q, response_type: stream, accounts: [%s]}\n{service: %q, accounts: [%s]}\n{service: %q, accounts: [%s]}\n]\n",
		nextWork+"*", crew, ackWork+">", crew, subject.Seat(), crew)
	fmt.Fprintf(&b, "imports: [{stream: {account: %s, subject: %q}}]}\n", crew, subject.Leaves())
	fmt.Fprintf(&b, "%s { jetstream: {max_memory: 0, max_store: %d, max_streams: 1, max_consumers: 4}\n%sexports: [{service: %q, accounts: [%s]}, {service: %q, accounts: [%s]}]}\n",
		tasked, taskBytes*replicas, named(tasked), subject.Tasks(), to, subject.Errors(), to)
	for _, account := range clients {
		b.WriteString(clientsText(account, named(account)))
	}
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_connections: %d}\n%sexports: [{stream: %q, accounts: [%s]}]\nimports: [\n",
		crew, largest, connections[crew], named(crew), subject.Leaves(), core)
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}}\n{service: {account: %s, subject: %q}}\n", core, nextWork+"*", core, ackWork+">")
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}, share: true}\n]}\n", core, subject.Seat())
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_connections: %d}\n%s}\n}\n", control, edgePayload, connections[control], named(control))
	return b.String()
}

// clientsText returns an account of clients. What they name as reply subject is
// where the server sends the answer for them. Notices and live text come over
// from the account of hosts, and nothing else may arrive there: an answer, which
// the server maps as it comes over, goes astray instead, where nobody listens.
// So an account of clients has no stream, whose acknowledgements would not be
// mapped.
func clientsText(account, users string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s { limits {max_payload: %d, max_subscriptions: %d, max_connections: %d}\n%smappings: {\n",
		account, edgePayload, subscriptions[account], connections[account], users)
	fmt.Fprintf(&b, "%q: %q\n%q: %q\n", subject.EveryNotice(), subject.StrayNotices(), subject.Lives(), subject.StrayLives())
	b.WriteString("}\nimports: [\n")
	// share: the server stamps each request with who made it.
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}, share: true}\n", core, subject.Services())
	fmt.Fprintf(&b, "{service: {account: %s, subject: %q}}\n{service: {account: %s, subject: %q}}\n", tasked, subject.Tasks(), tasked, subject.Errors())
	fmt.Fprintf(&b, "{stream: {account: %s, subject: %q}}\n{stream: {account: %s, subject: %q}}\n]}\n",
		core, subject.EveryNotice(), core, subject.Lives())
	return b.String()
}

// nobody is the user without credentials as the server knows it: by it the
// server tells clients that they need none.
const nobody = "users: [{user: anonymous, permissions: {publish: {deny: \">\"}, subscribe: {deny: \">\"}}}]\n"

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
