package doctor

import (
	"context"
	"time"
)

// maxTry bounds how long one source is tried.
const maxTry = 15 * time.Second

// sources says what agents may ask outside of their workspaces.
func sources(ctx context.Context, m *Machine, n *notes) {
	if len(m.Sources) == 0 {
		n.good("agents ask nobody outside: no search, no pages, no data (--source)")
	}
	for _, s := range m.Sources {
		said := s.Tool + " asks " + s.What
		if s.Note != "" {
			said += ": " + s.Note
		}
		if m.Online && s.Try != nil {
			if err := s.try(ctx); err != nil {
				n.refuse(Warned, err, s.Tool+" will say so to agents, who go on without it")
				continue
			}
			said += "; it answers"
		}
		n.good(said)
	}
}

func (s Source) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxTry)
	defer cancel()
	return s.Try(ctx)
}
