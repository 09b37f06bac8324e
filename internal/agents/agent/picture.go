package agent

import (
	"context"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// picture keeps what a tool read beside its text.
func (j *job) picture(ctx context.Context, p *tool.Picture) (*loomv1.Picture, error) {
	if p == nil {
		return nil, nil
	}
	ref, err := j.Blobs.Put(ctx, p.Data, p.MediaType)
	return &loomv1.Picture{Data: ref, Width: uint32(p.Width), Height: uint32(p.Height)}, err
}

// shows adds the picture of a transcript's message to what the model gets, or says
// that it takes none.
func (r *run) shows(ctx context.Context, m turn.Message, msg *model.Message) error {
	if m.Picture == nil {
		return nil
	}
	if !model.TakesPictures(r.asked()) {
		msg.Text += "[the model that answers takes no pictures]\n"
		return nil
	}
	data, err := r.Blobs.Get(ctx, m.Picture.Data)
	if err != nil {
		return err
	}
	msg.Picture = model.NewPicture(m.Picture.Data.MediaType, int(m.Picture.Width), int(m.Picture.Height), data)
	return nil
}
