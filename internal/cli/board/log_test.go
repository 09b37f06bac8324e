package board

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/cli/console"
)

// What a host logs stands above its board as the board's own lines do.
func TestCLI01_TheLogIsOfTheBoardsOwnLines(t *testing.T) {
	var got strings.Builder
	log := slog.New(said{say: func(line string) {
		_, _ = console.Folded(&got, 60, 14).Write([]byte(line[len("15:04:05.000"):]))
	}})
	log.Debug("nothing of this")
	log.Info("attempt is no longer ours", "attempt", "shop-1-x1-a2")
	log.With("host", "h-1").WithGroup("model").Error("work waits for the operator", "name", "none", slog.Group("try", "number", 2), "because", errors.New("no key\x1b[2J\nis set"), "for", 3*time.Second)
	want := `  attempt is no longer ours (attempt: shop-1-x1-a2)
  error: work waits for the operator (host: h-1, model.name:
              none, model.try.number: 2, model.because: no
              key\x1b[2J\nis set, model.for: 3s)
`
	if got.String() != want {
		t.Errorf("the lines are\n%s\nwant\n%s", got.String(), want)
	}
	lines := slog.New(slog.DiscardHandler)
	if b := (&Board{}); b.Logger(lines) != lines {
		t.Error("where there is no board, programs read the log, and it stays as it is")
	}
}
