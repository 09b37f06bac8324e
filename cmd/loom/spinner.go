package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// spinner shows on a terminal that something is under way, and what.
type spinner struct {
	app  *app
	on   bool
	mu   sync.Mutex
	text string
	quit chan struct{}
	done chan struct{}
}

func newSpinner(a *app) *spinner {
	return &spinner{app: a, on: !a.json && terminal(a.err) && os.Getenv("TERM") != "dumb"}
}

// say shows text until the next say or stop.
func (s *spinner) say(text string) {
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

func (s *spinner) turn(quit, done chan struct{}) {
	defer close(done)
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-quit:
			fmt.Fprint(s.app.err, "\r\x1b[K")
			return
		case <-t.C:
			s.mu.Lock()
			text := s.text
			s.mu.Unlock()
			fmt.Fprintf(s.app.err, "\r\x1b[K%c %s", []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[i%10], line(text, 100))
		}
	}
}

// stop clears the line.
func (s *spinner) stop() {
	s.mu.Lock()
	quit, done := s.quit, s.done
	s.quit = nil
	s.mu.Unlock()
	if quit != nil {
		close(quit)
		<-done
	}
}
