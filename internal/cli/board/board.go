// Package board shows what a host does while it runs: at a terminal a board below what
// was said, of what waits for the person in front, of each open bead and of the host;
// elsewhere a line for each thing that happens which a person would care for.
//
// It is fed by the host's notices and by the services that the other verbs read, and
// reads only after a notice: a host with nothing to do has nothing to draw.
package board

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/term"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
)

// What a host can show while it runs.
const (
	Auto  = "auto"  // a board at a terminal, else lines
	Plain = "lines" // a line for each thing that happens
	Off   = "off"   // nothing
)

var choices = []string{Auto, Plain, Off}

// Check refuses what is none of the choices.
func Check(choice string) error {
	if slices.Contains(choices, choice) {
		return nil
	}
	return fault.New("usage/argument", "no such choice").At("--board").Got(choice).Want("%s", suggest.Among(choice, choices))
}

// Board shows what hosts do that follow one another in this process.
type Board struct {
	console *console.Console
	screen  *Screen
	tty     *tty // nil where there is no board
	out     *os.File
	off     bool

	mu  sync.Mutex
	end func() // ends the showing of the host that is shown, and waits for it

	drawing sync.Mutex
	left    bool // nothing is drawn any more
}

// New returns a board on the standard error of a command.
func New(c *console.Console, choice string) *Board {
	b := &Board{console: c, screen: NewScreen(c.Err), off: choice == Off, end: func() {}}
	f := console.File(c.Err)
	if choice == Auto && !c.JSON && console.Terminal(c.Err) && os.Getenv("TERM") != "dumb" {
		if t := newTTY(f); t.front() {
			b.tty, b.out = t, f
		}
	}
	return b
}

// Err is where everything else is to be written while there is a board.
func (b *Board) Err() io.Writer { return b.screen }

// Begin shows what a host does, in the place of the one before, until ctx or the board
// ends. It takes the connection to the host, and closes it.
func (b *Board) Begin(ctx context.Context, c *client.Client, from From) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	if b.off {
		c.Close()
		return
	}
	b.run(ctx, func(ctx context.Context) {
		defer c.Close()
		newWatch(b, c, from).run(ctx)
	})
}

// begin shows something until ctx or the board ends.
func (b *Board) begin(ctx context.Context, show func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	if !b.off {
		b.run(ctx, show)
	}
}

// run has something shown from now on; the caller holds mu.
func (b *Board) run(ctx context.Context, show func(context.Context)) {
	if b.tty != nil {
		b.console.OnInterrupt(b.leave)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		show(ctx)
	}()
	b.end = func() {
		cancel()
		<-done
	}
}

// End says what has happened so far, takes the board away and leaves the terminal as it
// was. It may be called again.
func (b *Board) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	b.end = func() {}
	if b.tty != nil {
		b.leave()
	}
}

// leave ends the drawing, and takes the board away. It may be called again, and does not
// wait for a terminal that nobody reads.
func (b *Board) leave() {
	b.drawing.Lock()
	defer b.drawing.Unlock()
	b.left = true
	b.screen.Leave()
	b.tty.restore()
}

// say writes a line, or a notice for machines.
func (b *Board) say(text string) {
	width := 0
	if b.out != nil {
		width, _, _ = term.GetSize(int(b.out.Fd()))
	}
	fmt.Fprint(console.Folded(b.screen, width, 14), text)
}

// size is that of the terminal.
func (b *Board) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(b.out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// paint is for a terminal that is not standard output.
func (b *Board) paint(ink console.Ink, text string) string {
	return b.console.PaintOn(b.console.Err, ink, text)
}

// suspend takes the board away while the process is stopped with Ctrl-Z.
func (b *Board) suspend() {
	b.drawing.Lock()
	defer b.drawing.Unlock()
	b.screen.Clear()
	b.tty.restore()
	b.tty.stop()
}

// draw shows a state, if this process is in front of the terminal.
func (b *Board) draw(lines func(columns, rows int) []string, ring, resized bool) {
	b.drawing.Lock()
	defer b.drawing.Unlock()
	if b.left {
		return
	}
	if !b.tty.front() {
		b.screen.Clear()
		return
	}
	b.tty.silence()
	columns, rows := b.size()
	if resized {
		b.screen.Resized(lines(columns, rows), columns)
		return
	}
	b.screen.Draw(lines(columns, rows), columns, ring)
}
