package wire_test

import (
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomrun/loom/test/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; nothing is expected to take so long.
const patience = 2 * time.Minute

// echo is a server that says what it hears.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// dial comes in at a wire.
func dial(t *testing.T, w *wire.Wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// say sends a word, hear reads one of its length.
func say(t *testing.T, c net.Conn, word string) {
	t.Helper()
	if _, err := io.WriteString(c, word); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, word string) {
	t.Helper()
	got := make([]byte, len(word))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != word {
		t.Fatalf("heard %q, %v; want %q", got, err, word)
	}
}

// gone checks that a connection is broken.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came over a wire that is cut", n)
	}
}

func TestBYD01_WiresAreCutStalledAndHealed(t *testing.T) {
	w, err := wire.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	gone(t, dial(t, w)) // it leads nowhere yet
	w.Lead(echo(t))
	c := dial(t, w)
	say(t, c, "one")
	hear(t, c, "one")

	w.Stall()
	late := dial(t, w)
	say(t, c, "two")
	say(t, late, "three")
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came over a wire that is stalled", n)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	w.Heal()
	hear(t, c, "two")
	hear(t, late, "three")

	w.Cut()
	gone(t, c)
	gone(t, dial(t, w))
	w.Heal()
	again := dial(t, w)
	say(t, again, "four")
	hear(t, again, "four")
	w.Drop()
	gone(t, again)
	w.Close()
	if c, err := net.Dial("tcp", w.Address()); err == nil {
		c.Close()
		t.Error("a wire that is closed can be come in at")
	}
}

// silent checks that nothing comes for a moment.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came against the direction", n)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
}

func TestBYD01_WiresCarryOneWay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w, err := wire.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.Lead(l.Addr().String())
	here := dial(t, w)
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	_ = there.SetDeadline(time.Now().Add(patience))
	for _, c := range []struct {
		stop         func()
		heard, stuck net.Conn // who is heard, and who is not
	}{{w.Mute, there, here}, {w.Deaf, here, there}} {
		c.stop()
		say(t, c.heard, "one")
		say(t, c.stuck, "two")
		hear(t, c.stuck, "one")
		silent(t, c.heard)
		w.Heal()
		hear(t, c.heard, "two")
	}
}
