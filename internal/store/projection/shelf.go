package projection

// shelfSize bounds how many states of each sort stay in memory.
const shelfSize = 1024

// shelf keeps the states that were used last: at least shelfSize of them, at
// most twice as many. The rest is read again from the tables when it is needed.
type shelf[T any] struct{ young, old map[string]T }

func (s *shelf[T]) get(id string) (T, bool) {
	if v, ok := s.young[id]; ok {
		return v, true
	}
	v, ok := s.old[id]
	if ok {
		s.put(id, v)
	}
	return v, ok
}

func (s *shelf[T]) put(id string, v T) {
	if s.young == nil || len(s.young) >= shelfSize {
		s.young, s.old = make(map[string]T), s.young
	}
	s.young[id] = v
}

// keep puts what will change again, and drops what hardly will.
func (s *shelf[T]) keep(id string, v T, changes bool) {
	if changes {
		s.put(id, v)
		return
	}
	s.drop(id)
}

func (s *shelf[T]) drop(id string) {
	delete(s.young, id)
	delete(s.old, id)
}
