package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// Store keeps the identities of a deployment: in a file of the data directory
// where a host is alone, in a bucket where hosts form a cluster.
type Store interface {
	// List returns all identities by name, those that were revoked included.
	List(ctx context.Context) ([]User, error)

	// Change replaces the list by what f makes of it, whole or not at all, and
	// returns once that is durable. f may be called more than once, when
	// somebody else changed the list meanwhile; its error is returned.
	Change(ctx context.Context, f func([]User) ([]User, error)) error

	// Watch calls f with the list as it is now and after each change, within
	// two seconds, until ctx ends. A store that cannot be trusted is a call
	// with an error: then nobody of it may be let in.
	Watch(ctx context.Context, f func([]User, error))
}

// FileName is where identities are kept in a data directory.
const FileName = "identities.json"

// lookEvery is how often a file is looked at.
const lookEvery = time.Second

// File is a Store in a data directory. It is safe for several processes.
type File struct {
	list privatefile.List[User]
}

// NewFile returns the store of a data directory. It reads nothing yet.
func NewFile(dir string) *File {
	return &File{privatefile.List[User]{Dir: dir, Name: FileName, Code: "identity/file"}}
}

// List implements Store.
func (f *File) List(context.Context) ([]User, error) {
	all, _, err := f.read()
	return all, err
}

// Change implements Store.
func (f *File) Change(_ context.Context, change func([]User) ([]User, error)) error {
	return f.list.Change(func(all []User) ([]User, error) {
		if err := Check(all); err != nil {
			return nil, err
		}
		return change(all)
	})
}

// Watch implements Store; it looks at the file once a second.
func (f *File) Watch(ctx context.Context, told func([]User, error)) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	seen, failed := f.tell(told)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now, err := f.list.Look()
		if err == nil && failed == nil && now.Same(seen) || err != nil && failed != nil && err.Error() == failed.Error() {
			continue
		}
		seen, failed = f.tell(told)
	}
}

func (f *File) tell(told func([]User, error)) (privatefile.Mark, error) {
	all, mark, err := f.read()
	told(all, err)
	return mark, err
}

func (f *File) read() ([]User, privatefile.Mark, error) {
	all, mark, err := f.list.Load()
	if err == nil {
		err = Check(all)
	}
	return all, mark, err
}

// Check returns identity/file when a list is not one that this package wrote:
// a name or a key twice, a key that is none, a kind that is not known.
func Check(all []User) error {
	seen := map[string]bool{}
	for _, u := range all {
		for _, id := range []string{"name " + u.Name, u.Key, u.Control} {
			if id != "" && seen[id] {
				return broken(u, errors.New("it is there twice"))
			}
			seen[id] = true
		}
		if err := u.sound(); err != nil {
			return broken(u, err)
		}
	}
	return nil
}

func broken(u User, why error) error {
	return fault.New("identity/file", "identity %q is not sound: %s", u.Name, why).At(FileName).Want("revoke it by hand, or put the file back")
}

func (u User) sound() error {
	r := Request{Name: u.Name, Kind: u.Kind, Projects: u.Projects, Roles: u.Roles}
	switch {
	case !slices.Contains(Kinds(), u.Kind):
		return errors.New("its kind is not known")
	case !nkeys.IsValidPublicUserKey(u.Key):
		return errors.New("its key is not a public user nkey")
	case (u.Kind == CEO) != (u.Control != ""), u.Control != "" && !nkeys.IsValidPublicUserKey(u.Control):
		return errors.New("its way to the CEO's account is not a public user nkey")
	}
	return r.check()
}
