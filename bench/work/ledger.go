package main

import (
	"fmt"
	"os"
	"sync"
)

// ledger notes each agent step that was run, for the kill test; nil notes
// nothing.
type ledger struct {
	mu   sync.Mutex
	file *os.File
}

func openLedger(path string) (*ledger, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &ledger{file: f}, nil
}

func (l *ledger) add(id, step string, cycle uint32) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.file, "%s %s %d\n", id, step, cycle)
}
