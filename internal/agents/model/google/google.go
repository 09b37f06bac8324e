// Package google asks Gemini models through the generateContent protocol of
// the Gemini API, at Google or at any server that speaks it. It translates;
// waiting, trying again and checking are those of package wire.
package google

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// Origin is Google's own address.
const Origin = "https://generativelanguage.googleapis.com/v1beta"

// New returns the model that s names.
func New(s wire.Server) model.Provider {
	s.Provider = "google"
	return &provider{wire.NewLine(s)}
}

type provider struct{ *wire.Line }

// Ask is documented at [model.Provider].
func (p *provider) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	if err := p.CanThink(r.Thinking); err != nil {
		return nil, err
	}
	body, err := json.Marshal(p.request(r))
	if err != nil {
		return nil, err
	}
	return p.Line.Ask(ctx, r, onChunk, func(ctx context.Context, c *wire.Call) error {
		stream, err := p.send(ctx, c, body)
		if err != nil {
			return err
		}
		defer stream.Body.Close()
		return read(c, stream.Body)
	})
}

// send asks for a stream. The key goes into a header: an address is logged by
// whoever sees it.
func (p *provider) send(ctx context.Context, c *wire.Call, body []byte) (*http.Response, error) {
	address := p.Server().Base + "/models/" + url.PathEscape(p.Server().Model) + ":streamGenerateContent?alt=sse"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if p.Server().Key != "" {
		r.Header.Set("X-Goog-Api-Key", p.Server().Key)
	}
	return c.Do(r)
}
