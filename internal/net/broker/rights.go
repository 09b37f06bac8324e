package broker

import (
	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/net/identity"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// kind is a sort of user, a row of the table of rights.
type kind string

const (
	anonymous kind = "anonymous"
	publisher kind = "publisher"
	observer  kind = "observer"
	operator  kind = "operator"
	ceo       kind = "ceo"
	host      kind = "host"
	worker    kind = "worker"
)

// rights is what a user may do in its account, beside reading its own inboxes.
type rights struct {
	account            string
	publish, subscribe []string
	// all stands for everything in the account, which only hosts have.
	all bool
}

// table says what each kind of user may do. Named users of the edge account
// may be narrowed to projects.
var table = map[kind]func(user) rights{
	// Clients without credentials are one user, and can read each other's
	// answers; whoever minds has a key.
	anonymous: func(u user) rights {
		return rights{account: strangers, publish: append(submissions(u), services(u, endpoint.Submit)...), subscribe: observations(u)}
	},
	publisher: func(u user) rights {
		return rights{account: edge, publish: append(submissions(u), services(u, endpoint.Submit)...), subscribe: observations(u)}
	},
	observer: func(u user) rights {
		return rights{account: edge, publish: services(u, endpoint.Read), subscribe: observations(u)}
	},
	operator: func(u user) rights {
		return rights{account: edge, publish: append(submissions(u), subject.Services()), subscribe: observations(u)}
	},
	ceo: func(u user) rights {
		return rights{account: control, publish: []string{subject.CEOsOf(subject.Must(u.name))}}
	},
	registrar: registering,
	host:      func(u user) rights { return rights{account: u.account, all: true} },
	worker: func(u user) rights {
		r := rights{account: crew, publish: []string{subject.Seat(), subject.Leaf(subject.Must(u.name))}}
		for _, role := range u.roles {
			r.publish = append(r.publish, nextWork+role, ackWork+role+".>")
		}
		return r
	},
}

// services returns the subjects of the services that a scope is enough for. One who
// is narrowed has those alone of which can be said which projects they are about.
func services(u user, scope string) []string {
	var list []string
	for _, e := range endpoint.All() {
		if (e.Needs(scope) || scope == endpoint.Submit && e.Publishers) && (e.Narrow() || len(u.projects) == 0) {
			list = append(list, subject.Service(subject.Must(e.Name)))
		}
	}
	return list
}

// submissions are where u publishes without waiting for an answer. One who is
// narrowed has no error reports there: which project they are for is known
// only when they are read.
func submissions(u user) []string {
	if len(u.projects) == 0 {
		return []string{subject.Tasks(), subject.Errors()}
	}
	var list []string
	for _, p := range u.projects {
		list = append(list, subject.Task(subject.Must(p)))
	}
	return list
}

// observations are what u may listen to.
func observations(u user) []string {
	if len(u.projects) == 0 {
		return []string{subject.EveryNotice(), subject.Lives()}
	}
	var list []string
	for _, p := range u.projects {
		list = append(list, subject.Notices(subject.About{Project: subject.Must(p)}), subject.LivesOf(subject.Must(p)))
	}
	return list
}

// rights returns what u may do.
func (u user) rights() rights {
	if u.kind == host {
		return table[host](u)
	}
	r := table[u.kind](u)
	r.subscribe = append([]string{u.inbox + ".>"}, r.subscribe...)
	return r
}

// permissions returns r in the server's words; nil permits everything.
func (r rights) permissions() *server.Permissions {
	if r.all {
		return nil
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.publish},
		Subscribe: &server.SubjectPermission{Allow: r.subscribe},
	}
}

// kindOf is who a request is made by, in the words of the contract. What is
// presented in the CEO's account says nothing of itself: the signature does.
var kindOf = map[kind]loomv1.IdentityKind{
	anonymous: loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS,
	publisher: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER,
	observer:  loomv1.IdentityKind_IDENTITY_KIND_OBSERVER,
	operator:  loomv1.IdentityKind_IDENTITY_KIND_OPERATOR,
	host:      loomv1.IdentityKind_IDENTITY_KIND_HOST,
	worker:    loomv1.IdentityKind_IDENTITY_KIND_WORKER,
}

// usersOf returns those who may connect as an identity. The CEO's way in is
// two: one that looks, in the account of clients, and one that presents.
func usersOf(i identity.User) []user {
	u := user{
		kind: kind(i.Kind), name: i.Name, public: i.Key, inbox: Inbox(string(i.Kind), i.Name),
		projects: i.Projects, roles: i.Roles, until: i.Expires,
	}
	switch i.Kind {
	case identity.Host:
		u.account = core
	case identity.CEO:
		looks, presents := u, u
		looks.kind = observer
		presents.public = i.Control
		return []user{looks, presents}
	}
	return []user{u}
}

// Inbox returns the prefix of the inboxes of an identity: what is answered to
// it, nobody else can read.
func Inbox(kind, name string) string { return "_INBOX_" + kind + "_" + name }
