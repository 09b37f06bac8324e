package privatefile

import "sync"

// Watched is a list as a running host knows it: the file is read again when it has
// changed. It is safe for concurrent use.
type Watched[T any] struct {
	List List[T]

	mu   sync.Mutex
	all  []T
	seen Mark
}

// Current returns the list as the file has it now. Nobody may change it.
func (w *Watched[T]) Current() ([]T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.List.Look()
	if err != nil {
		return nil, err
	}
	if m.Same(w.seen) {
		return w.all, nil
	}
	all, m, err := w.List.Load()
	if err != nil {
		return nil, err
	}
	w.all, w.seen = all, m
	return all, nil
}
