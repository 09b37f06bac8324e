package notify

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// place is how far a target has been told.
type place struct {
	// After is a cursor, "" before the first notice.
	After string `json:"after,omitempty"`
	// Since is when the target was first named.
	Since time.Time `json:"since,omitzero"`
}

// state is a file of the places of all targets.
type state struct {
	path string
	lock *flock.Flock

	mu     sync.Mutex
	places map[string]*place
}

// openState reads a file of state, which may be absent. One that is damaged is
// refused: who removes it is told again from then on. Nobody else can open it until it
// is closed.
func openState(path string) (*state, error) {
	s := &state{path: path, places: map[string]*place{}, lock: flock.New(path+".lock", flock.SetPermissions(0o600))}
	free, err := s.lock.TryLock()
	if err != nil {
		return nil, fault.New("data/permissions", "how far people were told cannot be locked").At(path).Because(err)
	}
	if !free {
		return nil, fault.New("data/locked", "another \"loom notify\" tells with this file").At(path).Want("stop it, or name another --state FILE")
	}
	if err := s.read(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close lets another process tell.
func (s *state) close() { _ = s.lock.Close() }

func (s *state) read() error {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		data, err = privatefile.Whole(data)
	}
	if err == nil {
		err = json.Unmarshal(data, &s.places)
	}
	if err != nil {
		return fault.New("data/damaged", "how far people were told cannot be read").At(s.path).Because(err).Want("remove the file: what waits then is told from now on")
	}
	return nil
}

// begin returns whence a target is told: after the last notice that it had, or
// from first on where it is new, which is kept.
func (s *state) begin(target string, first time.Time) (*loomv1.Cursor, *timestamppb.Timestamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[target]
	if p == nil {
		p = &place{Since: first}
		s.places[target] = p
		if err := s.keep(); err != nil {
			return nil, nil, err
		}
	}
	cursor, err := notice.ParseCursor(p.After)
	if err != nil || p.Since.IsZero() {
		return cursor, nil, err
	}
	return cursor, timestamppb.New(p.Since), nil
}

// told notes that a target has the notice at a position, durably.
func (s *state) told(target string, at *loomv1.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[target]
	cursor, err := notice.ParseCursor(p.After)
	if err != nil {
		return err
	}
	p.After = notice.FormatCursor(notice.Advance(cursor, at))
	return s.keep()
}

// keep writes the file.
func (s *state) keep() error {
	data, err := json.MarshalIndent(s.places, "", "  ")
	if err != nil {
		return err
	}
	if err := privatefile.Replace(s.path, privatefile.Summed(data)); err != nil {
		return fault.New("data/permissions", "how far people were told cannot be written").At(s.path).Because(err)
	}
	return nil
}
