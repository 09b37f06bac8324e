package agent_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sighted is a model that takes pictures.
type sighted struct{ model.Provider }

func (sighted) TakesPictures() bool { return true }

// drawn is a bench whose model reads a picture and ends.
func drawn(t *testing.T, takes bool) (b *bench, file string) {
	var drawing bytes.Buffer
	if err := png.Encode(&drawing, image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.White})); err != nil {
		t.Fatal(err)
	}
	b = newBench(t, script(says(call("file_read", map[string]any{"path": "a.png"})), finish("success")), git.File{Path: "a.png", Data: drawing.Bytes()})
	if takes {
		b.worker.Model = sighted{b.worker.Model}
	}
	return b, drawing.String()
}

// shown is the picture of a request's only tool message, and its text.
func shown(q *model.Request) (*model.Picture, string) {
	for _, m := range q.Messages {
		if m.Role == model.RoleTool {
			return m.Picture, m.Text
		}
	}
	return nil, ""
}

// A picture that file_read reads is shown to a model that takes pictures, and is told
// of to any other. It is kept with the result, and shown again on another host.
func TestREAL05_PicturesAreShown(t *testing.T) {
	for _, takes := range []bool{true, false} {
		b, file := drawn(t, takes)
		b.must(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
		p, text := shown(b.asks.last)
		if (p != nil) != takes || takes && (p.MediaType != "image/png" || p.Width != 40 || p.Height != 30 || string(p.Data) != file) {
			t.Errorf("takes pictures: %t; it was shown %v", takes, p)
		}
		if !strings.HasPrefix(text, "a.png: a picture, image/png, 40 x 30 pixels") || strings.Contains(text, "takes no pictures") == takes {
			t.Errorf("takes pictures: %t; it was told %q", takes, text)
		}
	}
}

func TestREAL05_PicturesAreDurable(t *testing.T) {
	longtest.Skip(t)
	whole, file := drawn(t, true)
	whole.must(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	for at := 1; at <= whole.seat.calls; at++ {
		b, _ := drawn(t, true)
		b.seat.cutAt, b.seat.durable = at, true
		br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		if _, err := b.work(br); !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", at, err)
		}
		b.seat.cutAt = 0
		br.Turn = b.seat.turn
		if _, err := b.work(br); err != nil {
			t.Fatalf("after a cut at %d: %v", at, err)
		}
		if p, _ := shown(b.asks.last); p != nil && string(p.Data) != file || p == nil && len(b.asks.last.Messages) > 2 {
			t.Errorf("after a cut at %d it was shown %v", at, p)
		}
	}
}

// A recording has the pictures, so that it is played as it was.
func TestAGENT02_ReplayShowsPictures(t *testing.T) {
	b, _ := drawn(t, true)
	_, rec := taped(t, b, brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	var all []agent.Replayed
	err := agent.Replay(t.Context(), rec, b.worker.Roles, func(r agent.Replayed) { all = append(all, r) })
	if err != nil || len(all) != 1 || all[0].Outcome != "success" {
		t.Errorf("%v, %v", all, err)
	}
}
