package writing

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// converse opens a conversation, or takes what a person says or does in one. Secrets of
// this host are taken out of what is said before it is on record.
func (w *Writer) converse(ctx context.Context, r *loomv1.ConverseRequest, c service.Call) (*loomv1.Answer, error) {
	if r.Project == "" {
		if r.Project = project.Of(r.Conversation); r.Project == "" {
			r.Project = w.config.Known.Only()
		}
	}
	if err := reading.CheckQuery(project.Talks, &loomv1.Query{Project: r.Project, Id: r.Conversation}); err != nil {
		return nil, err
	}
	if r.Verb == nil {
		return nil, fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	if r.Request == "" { // it may be sent again on the way to its project
		r.Request = actors.OnceKey(ctx)
	}
	switch v := r.Verb.(type) {
	case *loomv1.ConverseRequest_Open:
		if v.Open == nil {
			v.Open = &loomv1.OpenConversation{}
		}
		v.Open.Text = w.config.Secrets.Text(v.Open.Text)
	case *loomv1.ConverseRequest_Say:
		v.Say.Text = w.config.Secrets.Text(v.Say.GetText())
	}
	if r.GetOpen() != nil || r.GetFork() != nil {
		if err := w.config.Admit(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	answer, err := w.config.Projects.Do(ctx, &loomv1.Command{Project: r.Project, Actor: c.From, Body: &loomv1.Command_Converse{Converse: r}})
	if err != nil {
		return nil, w.config.Known.Suggest(err)
	}
	return answer, nil
}
