// Package wire makes ways between processes of a test that can be cut, stalled
// and healed: a TCP address that leads to another one. It needs no rights and no
// network but loopback. What comes out is what went in, in order; it promises
// nothing about how fast, and never closes an end by itself unless it is cut or
// the other end is gone.
package wire

import (
	"context"
	"net"
	"sync"
)

// Wire is an address that leads to another. Its methods may be called from many
// goroutines.
type Wire struct {
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	moved *sync.Cond // the state has changed
	to    string     // empty: nobody is there yet
	state state
	ends  map[net.Conn]bool
}

type state int

const (
	open state = iota
	stalled
	mute // what the beginning says is held back
	deaf // what the beginning would hear is held back
	cut
	closed
)

// New returns a wire that leads nowhere yet: whoever connects is turned away.
func New() (*Wire, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: l, ends: map[net.Conn]bool{}}
	w.moved = sync.NewCond(&w.mu)
	w.running.Go(w.accept)
	return w, nil
}

// Address is where the wire begins, HOST:PORT on loopback.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Lead says where the wire leads to, HOST:PORT, for connections from now on.
func (w *Wire) Lead(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
}

// Stall holds everything back without telling anybody, as a network does that
// loses every packet: connections stay, new ones are taken, and what was on its
// way arrives late, after Heal.
func (w *Wire) Stall() { w.set(stalled) }

// Mute holds back what who connects says, and lets through what it is told: the
// other end does not hear it any more. Deaf holds back the other way. Connections
// stay, and new ones are taken.
func (w *Wire) Mute() { w.set(mute) }

// Deaf is the other direction of Mute.
func (w *Wire) Deaf() { w.set(deaf) }

// Cut breaks all connections and refuses new ones, until Heal.
func (w *Wire) Cut() {
	w.set(cut)
	w.Drop()
}

// Heal ends what Stall, Mute, Deaf or Cut began.
func (w *Wire) Heal() { w.set(open) }

// Drop breaks all connections; new ones are taken.
func (w *Wire) Drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.ends {
		_ = c.Close()
	}
}

// Close ends the wire and waits for all that it runs.
func (w *Wire) Close() {
	_ = w.listener.Close()
	w.set(closed)
	w.Drop()
	w.running.Wait()
}

// set changes the state, for good if it is closed.
func (w *Wire) set(s state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != closed {
		w.state = s
	}
	w.moved.Broadcast()
}

func (w *Wire) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.running.Go(func() { w.carry(c) })
	}
}

// carry joins a connection with one to the other end until either is gone.
func (w *Wire) carry(c net.Conn) {
	defer c.Close()
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	up, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	defer w.release(c, up)
	if !w.hold(c, up) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { w.pipe(c, up, deaf) })
	w.pipe(up, c, mute)
	back.Wait()
}

// hold takes note of the ends of a connection, unless none is let through.
func (w *Wire) hold(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range ends {
		w.ends[c] = true
	}
	return w.state < cut
}

func (w *Wire) release(ends ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range ends {
		delete(w.ends, c)
	}
}

// pipe carries bytes, holds them back while the wire is stalled, or in the state
// that is against its direction, and closes both ends when one is gone.
func (w *Wire) pipe(to, from net.Conn, against state) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !w.pass(against) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pass waits while the wire holds back, and returns whether it lets through.
func (w *Wire) pass(against state) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.state == stalled || w.state == against {
		w.moved.Wait()
	}
	return w.state < cut
}
