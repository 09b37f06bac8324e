package agent

import (
	"context"
	"fmt"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of the patches that prompts and results hold, in bytes: of the change that
// is judged, and of each task's that a lead gets back.
const (
	patchBytes = 24 << 10
	taskBytes  = 8 << 10
)

// patchText is the section of a prompt with the change that is judged.
func (j *job) patchText(ctx context.Context) string {
	if j.brief.Turn.GetModel() != "" {
		return "" // the prompt is recorded
	}
	patch := j.patchOf(ctx, j.brief.Execution.Change, patchBytes)
	if patch == "" {
		return ""
	}
	var p prompt
	p.WriteByte('\n')
	p.section("Patch")
	p.WriteString(patch)
	return p.String()
}

// patchOf returns a change as a patch, cut in its middle to limit bytes; tools show
// the rest, and all of a patch that cannot be had.
func (j *job) patchOf(ctx context.Context, c *loomv1.Change, limit int) string {
	if c.GetDiff() == nil {
		return ""
	}
	diff, err := j.Blobs.Get(ctx, c.Diff)
	if err != nil {
		j.Logger.Warn("the patch of a change cannot be read", "attempt", j.brief.Attempt.Id, "error", err)
		return ""
	}
	about := ""
	if len(diff) > limit {
		about = fmt.Sprintf("%d of its %d bytes; git_diff and file_read show the rest:\n", limit, len(diff))
	}
	return about + turn.AsData(turn.Clip(text(string(diff)), uint64(limit)))
}
