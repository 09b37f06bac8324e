package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// health answers as long as the process does.
func (s *Server) health(w http.ResponseWriter, _ *http.Request, _ caller) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{\"status\":\"alive\"}\n"))
}

// readyFor is how long what was found is told again: anybody may ask.
const readyFor = time.Second

// readiness is what was found last.
type readiness struct {
	mu    sync.Mutex
	at    time.Time
	parts []Part
}

// find looks, at most once in readyFor.
func (r *readiness) find(ctx context.Context, s Services) []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parts == nil || time.Since(r.at) >= readyFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		r.parts, r.at = s.Ready(ctx), time.Now()
	}
	return r.parts
}

// readiness answers 200 when everything is ready, else 503, and what is not.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request, _ caller) {
	parts := s.ready.find(r.Context(), s.config.Services)
	ready := !slices.ContainsFunc(parts, func(p Part) bool { return p.Code != "" })
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	text, _ := json.Marshal(map[string]any{"ready": ready, "parts": parts})
	_, _ = w.Write(append(text, '\n'))
}
