package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostKept bounds a page that is kept, in bytes; of a larger one the hash is.
const mostKept = 2 << 20

// read keeps what a tool has read outside, as it came and as it could be read.
func (j *job) read(ctx context.Context, list []tool.Read) (kept []*loomv1.SourceRead, err error) {
	for _, r := range list {
		sum := sha256.Sum256(r.Body)
		s := &loomv1.SourceRead{
			Address: j.Secrets.Text(text(r.Address)), Title: cut(j.Secrets.Text(text(r.Title)), turn.MaxSummary/4),
			Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(r.Body)),
		}
		if len(s.Address) > turn.MaxAddress {
			s.Address = cut(s.Address, turn.MaxAddress/4)
		}
		if len(r.Body) <= mostKept {
			if s.Content, err = j.Blobs.Put(ctx, []byte(j.Secrets.Text(string(r.Body))), mediaOf(r.MediaType)); err != nil {
				return nil, err
			}
		}
		if r.Text != "" && len(r.Text) <= mostKept {
			if s.Text, err = j.Blobs.Put(ctx, []byte(j.Secrets.Text(r.Text)), "text/markdown; charset=utf-8"); err != nil {
				return nil, err
			}
		}
		kept = append(kept, s)
	}
	return kept, nil
}

// mediaOf is the media type that a server named, made fit to be recorded.
func mediaOf(said string) string {
	if said = cut(text(said), 50); said == "" {
		return "application/octet-stream"
	}
	return said
}
