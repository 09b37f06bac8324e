package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unpackedMost is how many ended executions stay as they are when a state
// rests: those that ended last, or were looked at last.
const unpackedMost = 64

// shelf has the executions that have ended, as bytes: a host has many more of
// them than of those that run, and hardly ever looks at one again. In memory an
// execution takes some seven times what it takes as bytes, and each garbage
// collection follows all its pointers.
//
// It is no part of the state: a snapshot has them all, wherever they are.
type shelf struct {
	packed map[string]packed
	pinned map[string]uint32 // how many of packed there are by the hash of their definition
	idle   []string          // ended ones that are not packed, the longest first; an id may come twice
}

type packed struct {
	data       []byte
	definition string // hash
}

// execution returns an execution, or nil. It stays where it is until the state
// rests, so all who ask before that have the same one.
func (s *State) execution(id string) *loomv1.Execution {
	x, ok := s.p.Executions[id]
	if ok {
		return x
	}
	p, ok := s.shelf.packed[id]
	if !ok {
		return nil
	}
	x = &loomv1.Execution{}
	if err := proto.Unmarshal(p.data, x); err != nil {
		panic(fmt.Sprintf("execution %q, packed by this very process: %v", id, err))
	}
	delete(s.shelf.packed, id)
	s.shelf.pinned[p.definition]--
	s.p.Executions[id] = x
	s.shelf.idle = append(s.shelf.idle, id)
	return x
}

// Rest gives back memory that nothing needs for now. The owner calls it when
// nobody holds anything of the state, such as after a command. It costs what
// has ended since the last time; it changes nothing that can be seen.
func (s *State) Rest() { s.rest(unpackedMost) }

func (s *State) rest(unpacked int) {
	for len(s.shelf.idle) > unpacked {
		id := s.shelf.idle[0]
		s.shelf.idle = s.shelf.idle[1:]
		x := s.p.Executions[id]
		if x == nil || running(x) {
			continue
		}
		data, err := proto.Marshal(x)
		if err != nil {
			continue // it stays as it is; Hash says the same of a whole state
		}
		s.shelf.packed[id] = packed{data, x.DefinitionHash}
		s.shelf.pinned[x.DefinitionHash]++
		delete(s.p.Executions, id)
	}
}

// unpack has every execution in its place.
func (s *State) unpack() {
	for id := range s.shelf.packed {
		s.execution(id)
	}
}
