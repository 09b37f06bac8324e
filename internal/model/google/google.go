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

	"github.com/loomrun/loom/internal/model"
	"github.com/loomrun/loom/internal/model/wire"
)

// Origin is Google's own address.
const Origin = "https://generativelanguage.googleapis.com/v1beta"

// New returns the model that s names.
func New(s wire.Server) model.Provider {
	s.Provider = "google"
	return &provider{server: s, line: wire.NewLine(s)}
}

type provider struct {
	server wire.Server
	line   *wire.Line
}

func (p *provider) Name() string   { return p.server.Spec }
func (p *provider) Scripted() bool { return false }

// Window is documented at [model.Windowed].
func (p *provider) Window() int { return p.server.Window }

// MostCost is documented at [model.Priced].
func (p *provider) MostCost(input, output uint64) (uint64, bool) {
	return p.server.MostCost(input, output)
}

// Ask is documented at [model.Provider].
func (p *provider) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	body, err := json.Marshal(p.request(r))
	if err != nil {
		return nil, err
	}
	return p.line.Ask(ctx, r, onChunk, func(ctx context.Context, c *wire.Call) error {
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
	address := p.server.Base + "/models/" + url.PathEscape(p.server.Model) + ":streamGenerateContent?alt=sse"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if p.server.Key != "" {
		r.Header.Set("X-Goog-Api-Key", p.server.Key)
	}
	return c.Do(r)
}
