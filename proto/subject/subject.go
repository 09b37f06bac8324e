// Package subject spells every NATS subject of Loom. Its arguments are tokens
// that have been parsed, so a subject that comes out is always sound; nothing
// else in the module writes a subject.
//
//	loom.v1.task.PROJECT                          submission by JetStream publish        TASKS, imported into EDGE
//	loom.v1.error.SERVICE                         error report by JetStream publish      TASKS, imported into EDGE
//	loom.v1.svc.NAME                              request/reply services                 CORE, imported into EDGE
//	loom.v1.notice.PROJECT.TEAM.BEAD.KIND.HOST.ROLE.AGENT  notices, not stored           CORE, imported into EDGE
//	loom.v1.live.PROJECT.BEAD.ROLE.AGENT          streamed chunks, not stored            CORE, imported into EDGE
//	loom.v1.journal.NN                            batches of a partition, LOOM_J_NN      CORE
//	loom.v1.work.ROLE.PLACE.PRIORITY.ATTEMPT-gN   assignments, stream WORK               CORE
//	loom.v1.lease.BUCKET.KEY                      a lease's record, once it is stored     CORE
//	loom.v1.actor.HOST.EPOCH                      messages for the actors of a start       CORE
//	loom.v1.name.NAME                             requests to whoever bears a name         CORE
//	loom.v1.seat                                  what agents of leaf hosts ask            CORE, imported into WORKERS
//	loom.v1.leaf.NAME                             a leaf host says that it lives           WORKERS, imported into CORE
//	loom.v1.hears                                 a host says which others it hears        CORE
//	loom.v1.dlq.STREAM                            set aside, with the reason             CORE, stream DLQ
//	loom.v1.ceo.USER.VERB                         signed commands of the CEO             CONTROL
//	loom.v1.stray.>                               answers that were to look like notices EDGE, nobody listens
//
// What is said of EDGE is so of ANONYMOUS, the account of clients without
// credentials.
//
// In a notice's subject "-" stands for what the notice is not about; it is the
// one token that [Parse] does not accept.
package subject

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Prefix begins every subject.
const Prefix = "loom.v1"

// Token is one parsed element of a subject: [a-z0-9][a-z0-9_-]{0,63}.
// The zero Token is not valid and makes every builder panic.
type Token struct{ s string }

// none stands in a notice's subject for what it is not about.
var none = Token{"-"}

// Parse returns s as a token, or an error with code id/malformed that names
// what (for example "project").
func Parse(what, s string) (Token, error) {
	most := maxToken
	if what == "project" {
		most = MaxProject
	}
	if !valid(s) || len(s) > most {
		return Token{}, fault.New("id/malformed", "%s id is not 1 to %d of a-z, 0-9, _ and -, beginning with a letter or digit", what, most).
			At(what).Got(s)
	}
	return Token{s}, nil
}

// MaxProject is the most bytes of a project's id, so that those of its beads and attempts
// are tokens; maxToken is the most of any.
const (
	MaxProject = 40
	maxToken   = 64
)

// Must is Parse for names that the program itself chose; it panics.
func Must(s string) Token {
	t, err := Parse("token", s)
	if err != nil {
		panic(err)
	}
	return t
}

func (t Token) String() string { return t.s }

func valid(s string) bool {
	if len(s) == 0 || len(s) > maxToken || s[0] == '-' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Task is where a client publishes a Submission for a project.
func Task(project Token) string { return join("task", project.s) }

// Tasks matches every Task subject.
func Tasks() string { return join("task", "*") }

// Error is where a service publishes its ErrorReports.
func Error(service Token) string { return join("error", service.s) }

// Errors matches every Error subject.
func Errors() string { return join("error", "*") }

// Service is where a request to the named service goes.
func Service(name Token) string { return join("svc", name.s) }

// Services matches every service.
func Services() string { return join("svc", ">") }

// About is what a notice is about, as far as that applies.
type About struct {
	Project Token
	Team    Token // the outermost bead that Bead is a part of, or Bead
	Bead    Token
	Kind    Token
	// Who acts: an agent, its role and its host.
	Host, Role, Agent Token
}

func (a About) tokens() []Token {
	return []Token{a.Project, a.Team, a.Bead, a.Kind, a.Host, a.Role, a.Agent}
}

// Notice is where a notice is published. The project and the kind are required.
func Notice(a About) string {
	parts := []string{"notice"}
	for _, t := range a.tokens() {
		if t.s == "" && t != a.Project && t != a.Kind {
			t = none
		}
		parts = append(parts, t.s)
	}
	return join(parts...)
}

// Notices matches the notices that are about all that a names; a zero Token
// matches any.
func Notices(a About) string {
	parts := []string{"notice"}
	for _, t := range a.tokens() {
		parts = append(parts, orAny(t))
	}
	for len(parts) > 2 && parts[len(parts)-1] == "*" && parts[len(parts)-2] == "*" {
		parts = parts[:len(parts)-1]
	}
	if last := len(parts) - 1; parts[last] == "*" {
		parts[last] = ">"
	}
	return join(parts...)
}

// EveryNotice matches all notices.
func EveryNotice() string { return join("notice", ">") }

// Live is where what an agent writes is published as it comes. Its name is
// that of [Agent].
func Live(project, bead, role, agent Token) string {
	return join("live", project.s, bead.s, role.s, agent.s)
}

// Agent parses an agent's name, "ROLE/N", as the tokens "ROLE" and "ROLE-N".
func Agent(name string) (role, agent Token, err error) {
	r, n, _ := strings.Cut(name, "/")
	if role, err = Parse("role", r); err == nil {
		_, err = Parse("number of the agent", n)
	}
	if err == nil {
		agent, err = Parse("agent", r+"-"+n)
	}
	return role, agent, err
}

// LivesOf matches every Live subject of a project.
func LivesOf(project Token) string { return join("live", project.s, ">") }

// Lives matches every Live subject.
func Lives() string { return join("live", ">") }

// Lived is who writes at a [Live] subject: agent as its name is, "ROLE/N".
func Lived(at string) (project, bead, role, agent string, ok bool) {
	t := After(Must("live"), at)
	if len(t) != 4 {
		return "", "", "", "", false
	}
	return t[0], t[1], t[2], t[2] + "/" + strings.TrimPrefix(t[3], t[2]+"-"), true
}

// StrayNotices is where an answer goes whose reply subject is that of a notice.
// Nobody may listen there.
func StrayNotices() string { return join("stray", "notice", ">") }

// StrayLives is where an answer goes whose reply subject is one of [Lives].
// Nobody may listen there.
func StrayLives() string { return join("stray", "live", ">") }

// Journal is the one subject of a partition's journal.
func Journal(partition int) string { return join("journal", number(partition)) }

// Work is the subject of one queued assignment.
func Work(role, place, priority, attempt Token, generation uint32) string {
	return join("work", role.s, place.s, priority.s, fmt.Sprintf("%s-g%d", attempt.s, generation))
}

// WorkOf matches all work of a role.
func WorkOf(role Token) string { return join("work", role.s, ">") }

// Works matches all work.
func Works() string { return join("work", ">") }

// Leases matches where the records of a bucket of leases are republished; a
// key of several parts adds one token for each.
func Leases(bucket Token) string { return join("lease", bucket.s, ">") }

// Actor is where messages for the actors of one start of a host go.
func Actor(host Token, epoch uint64) string { return join("actor", host.s, fmt.Sprint(epoch)) }

// Name is where requests to whoever bears a name at present go.
func Name(name Token) string { return join("name", name.s) }

// Seat is where agents of leaf hosts ask.
func Seat() string { return join("seat") }

// At is where a host of a cluster itself answers what is asked on another subject: its
// own server sends it there, so that no other host, which may sleep, gets the request.
func At(host Token, subj string) string {
	return join("at", host.s) + strings.TrimPrefix(subj, Prefix)
}

// AskedOn is the subject on which a request was made that came in on a subject of At;
// any other is its own.
func AskedOn(subj string) string {
	rest, ok := strings.CutPrefix(subj, join("at")+".")
	if _, asked, more := strings.Cut(rest, "."); ok && more {
		return join(asked)
	}
	return subj
}

// Leaf is where a leaf host says that it lives.
func Leaf(name Token) string { return join("leaf", name.s) }

// Leaves matches every Leaf subject.
func Leaves() string { return join("leaf", "*") }

// Hears is where hosts say which others they hear.
func Hears() string { return join("hears") }

// DLQ is where messages of a stream are set aside.
func DLQ(stream Token) string { return join("dlq", stream.s) }

// DLQs matches every DLQ subject.
func DLQs() string { return join("dlq", "*") }

// CEO is where a user's signed command goes.
func CEO(user, verb Token) string { return join("ceo", user.s, verb.s) }

// CEOsOf matches every signed command of a user.
func CEOsOf(user Token) string { return join("ceo", user.s, "*") }

// CEOs matches every signed command.
func CEOs() string { return join("ceo", "*", "*") }

// After returns what follows loom.v1.AREA. in a subject, split at the dots, or
// nil when the subject is not of that area.
func After(area Token, subj string) []string {
	rest, ok := strings.CutPrefix(subj, join(area.s)+".")
	if !ok {
		return nil
	}
	return strings.Split(rest, ".")
}

func number(partition int) string { return fmt.Sprintf("%02d", partition) }

func orAny(t Token) string {
	if t.s == "" {
		return "*"
	}
	return t.s
}

func join(parts ...string) string {
	for _, p := range parts {
		if p == "" {
			panic("subject: zero token in " + strings.Join(parts, "."))
		}
	}
	return Prefix + "." + strings.Join(parts, ".")
}
