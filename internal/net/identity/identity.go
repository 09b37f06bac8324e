package identity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/proto/subject"
)

// Kind is what an identity is for. The list is closed.
type Kind string

// The kinds.
const (
	Publisher Kind = "publisher" // submits work and error reports, reads notices
	Observer  Kind = "observer"  // reads everything, changes nothing
	Operator  Kind = "operator"  // every service; cannot approve
	CEO       Kind = "ceo"       // reads, and presents commands that the CEO's key has signed
	Host      Kind = "host"      // a Loom host elsewhere: journals, work, blobs
	Worker    Kind = "worker"    // pulls the work of named roles, and nothing of journals
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Publisher, Observer, Operator, CEO, Host, Worker} }

// MaxLife is how long an identity lasts at most, and unless it is told
// otherwise.
const MaxLife = 90 * 24 * time.Hour

const (
	// maxUsers bounds the list, with those that were revoked.
	maxUsers = 1000
	// maxNarrow bounds the projects and the roles of one identity: the server
	// writes them beside each of its requests.
	maxNarrow = 16
)

// reserved are the names of those that a host makes for itself.
var reserved = []string{"host", "operator", "ceo", "anonymous", "registrar"}

// User is what is kept of an identity: no private key.
type User struct {
	// Name is a token of at most 40 bytes, unique in the deployment for good.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Key is the public nkey that it connects with, "U...".
	Key string `json:"key"`
	// Control is the public nkey by which one of kind CEO connects to the
	// account of signed commands; empty for all others.
	Control string `json:"control,omitempty"`
	// Projects are all that a publisher or observer may see and name, at most
	// 16; none means all there are.
	Projects []string `json:"projects,omitempty"`
	// Roles are those whose work a worker may pull, 1 to 16.
	Roles   []string  `json:"roles,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Revoked is when it was taken away; zero if it was not.
	Revoked time.Time `json:"revoked,omitzero"`
}

// Valid says whether u may connect at a moment.
func (u User) Valid(now time.Time) bool { return u.Revoked.IsZero() && now.Before(u.Expires) }

// Secrets are the private halves of an identity's keys. They are returned once
// and kept nowhere.
type Secrets struct {
	// Seed is the nkey seed of User.Key, "SU...".
	Seed []byte
	// Control is that of User.Control; nil unless the kind is CEO.
	Control []byte
}

// Request asks for an identity.
type Request struct {
	Name     string
	Kind     Kind
	Projects []string
	Roles    []string
	// Life is how long it lasts. Zero means MaxLife.
	Life time.Duration
}

// Add makes an identity, and returns its private keys, which are kept nowhere.
// It returns id/malformed for a name that is none, identity/exists for one that
// is or was taken, and usage/argument, all at once, for what cannot be.
func Add(ctx context.Context, s Store, r Request, now time.Time) (User, Secrets, error) {
	if err := r.check(); err != nil {
		return User{}, Secrets{}, err
	}
	u := User{Name: r.Name, Kind: r.Kind, Projects: sorted(r.Projects), Roles: sorted(r.Roles)}
	secrets, err := u.newKeys(now, r.Life)
	if err != nil {
		return User{}, Secrets{}, err
	}
	return u, secrets, s.Change(ctx, func(all []User) ([]User, error) {
		if i := index(all, r.Name); i >= 0 {
			return nil, taken(all[i])
		}
		if len(all) >= maxUsers {
			return nil, fault.New("identity/exists", "there are %d identities already, the most there can be", maxUsers)
		}
		all = append(all, u)
		slices.SortFunc(all, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
		return all, nil
	})
}

func taken(u User) error {
	if !u.Revoked.IsZero() {
		return fault.New("identity/exists", "the name stood for an identity that was revoked").At("NAME").Got(u.Name).
			Want("choose another, so that the record stays clear")
	}
	return fault.New("identity/exists", "there is an identity of that name already").At("NAME").Got(u.Name).
		Want("\"loom auth user rotate\" gives it a new key")
}

// Rotate gives an identity new keys and a new life; the old keys are refused.
// It returns identity/unknown when there is none of that name, or no more.
func Rotate(ctx context.Context, s Store, name string, life time.Duration, now time.Time) (User, Secrets, error) {
	if err := fault.Join(checkLife(life)); err != nil {
		return User{}, Secrets{}, err
	}
	var u User
	var secrets Secrets
	err := s.Change(ctx, func(all []User) ([]User, error) {
		i, err := find(all, name)
		if err != nil {
			return nil, err
		}
		if !all[i].Revoked.IsZero() {
			return nil, fault.New("identity/unknown", "the identity was revoked").At("NAME").Got(name).Want("add another one")
		}
		if secrets, err = all[i].newKeys(now, life); err != nil {
			return nil, err
		}
		u = all[i]
		return all, nil
	})
	return u, secrets, err
}

// Revoke takes an identity away; its name stays on record. Revoking it again
// changes nothing. It returns identity/unknown when there is none.
func Revoke(ctx context.Context, s Store, name string, now time.Time) error {
	return s.Change(ctx, func(all []User) ([]User, error) {
		i, err := find(all, name)
		if err == nil && all[i].Revoked.IsZero() {
			all[i].Revoked = now.UTC().Truncate(time.Second)
		}
		return all, err
	})
}

// Get returns the identity with a name, or identity/unknown.
func Get(ctx context.Context, s Store, name string) (User, error) {
	all, err := s.List(ctx)
	if err != nil {
		return User{}, err
	}
	i, err := find(all, name)
	if err != nil {
		return User{}, err
	}
	return all[i], nil
}

func find(all []User, name string) (int, error) {
	if i := index(all, name); i >= 0 {
		return i, nil
	}
	var names []string
	for _, u := range all {
		names = append(names, u.Name)
	}
	return -1, fault.New("identity/unknown", "there is no identity of that name").At("NAME").Got(name).Want("%s", suggest.Among(name, names))
}

func index(all []User, name string) int {
	return slices.IndexFunc(all, func(u User) bool { return u.Name == name })
}

// newKeys gives u keys, from now on and for a life.
func (u *User) newKeys(now time.Time, life time.Duration) (Secrets, error) {
	var s Secrets
	var err error
	if u.Key, s.Seed, err = newKey(); err != nil {
		return s, err
	}
	if u.Kind == CEO {
		if u.Control, s.Control, err = newKey(); err != nil {
			return s, err
		}
	}
	now = now.UTC().Truncate(time.Second)
	u.Created, u.Expires = now, now.Add(cmp.Or(life, MaxLife))
	return s, nil
}

func newKey() (public string, seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", nil, fmt.Errorf("identity: %w", err)
	}
	if public, err = pair.PublicKey(); err != nil {
		return "", nil, fmt.Errorf("identity: %w", err)
	}
	if seed, err = pair.Seed(); err != nil {
		return "", nil, fmt.Errorf("identity: %w", err)
	}
	return public, seed, nil
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// check reports all that is wrong with a request.
func (r Request) check() error {
	errs := checkLife(r.Life)
	add := func(e *fault.Error) { errs = append(errs, e) }
	if _, err := subject.Parse("identity", r.Name); err != nil {
		add(fault.From(err).At("NAME"))
	} else if len(r.Name) > 40 || slices.Contains(reserved, r.Name) {
		add(fault.New("usage/argument", "not a name that an identity can have").At("NAME").Got(r.Name).
			Want("at most 40 bytes, and none of %s", strings.Join(reserved, ", ")))
	}
	if !slices.Contains(Kinds(), r.Kind) {
		add(fault.New("usage/argument", "no such kind of identity").At("--as").Got(string(r.Kind)).Want("%s", suggest.Among(string(r.Kind), names())))
	}
	errs = append(errs, narrowed("--project", r.Projects, r.Kind == Publisher || r.Kind == Observer, "publishers and observers are")...)
	errs = append(errs, narrowed("--role", r.Roles, r.Kind == Worker, "workers are")...)
	if r.Kind == Worker && len(r.Roles) == 0 {
		add(fault.New("usage/argument", "a worker pulls the work of named roles").At("--role").Want("name 1 to %d", maxNarrow))
	}
	return fault.Join(errs)
}

func checkLife(life time.Duration) []*fault.Error {
	if life >= 0 && life <= MaxLife && (life == 0 || life >= time.Second) {
		return nil
	}
	return []*fault.Error{fault.New("usage/argument", "an identity lasts at least a second and at most %d days", int(MaxLife.Hours()/24)).
		At("--expires").Got(life.String())}
}

// narrowed checks a list of names that narrows what an identity may do.
func narrowed(flag string, list []string, fits bool, who string) []*fault.Error {
	var errs []*fault.Error
	if len(list) > 0 && !fits {
		errs = append(errs, fault.New("usage/argument", "only %s narrowed by it", who).At(flag))
	}
	if len(list) > maxNarrow {
		errs = append(errs, fault.New("usage/argument", "%d are named, the most is %d", len(list), maxNarrow).At(flag))
	}
	for _, name := range list {
		if _, err := subject.Parse("name", name); err != nil {
			errs = append(errs, fault.From(err).At(flag))
		}
	}
	return errs
}

func names() []string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, string(k))
	}
	return list
}
