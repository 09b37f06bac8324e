package console

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Spinner shows on a terminal that something is under way, and what.
type Spinner struct {
	app  *Console
	on   bool
	mu   sync.Mutex
	text string
	quit chan struct{}
	done chan struct{}
}

// NewSpinner returns a spinner, which shows nothing where nobody looks at a terminal.
func NewSpinner(a *Console) *Spinner {
	return &Spinner{app: a, on: !a.JSON && Terminal(a.Err) && os.Getenv("TERM") != "dumb"}
}

// Say shows text until the next say or stop.
func (s *Spinner) Say(text string) {
	if !s.on {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	if s.quit == nil {
		s.quit, s.done = make(chan struct{}), make(chan struct{})
		go s.turn(s.quit, s.done)
	}
}

func (s *Spinner) turn(quit, done chan struct{}) {
	defer close(done)
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-quit:
			fmt.Fprint(s.app.Err, "\r\x1b[K")
			return
		case <-t.C:
			s.mu.Lock()
			text := s.text
			s.mu.Unlock()
			fmt.Fprint(s.app.Err, "\r\x1b[K"+frame(i, text, fitted(s.app.Err)))
		}
	}
}

// frame is what the spinner shows at a moment: itself, and as much of a text as fits.
func frame(i int, text string, width int) string {
	return fmt.Sprintf("%c %s", []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[i%10], Cut(Line(text, 4*width), width))
}

// fitted is how many columns are left for a text behind the spinner on one line of a
// terminal: one that goes on in the next cannot be cleared.
func fitted(w any) int {
	if n := widthOf(w); n > 0 {
		return max(1, min(n-3, 100))
	}
	return 77
}

// Stop clears the line.
func (s *Spinner) Stop() {
	s.mu.Lock()
	quit, done := s.quit, s.done
	s.quit = nil
	s.mu.Unlock()
	if quit != nil {
		close(quit)
		<-done
	}
}
