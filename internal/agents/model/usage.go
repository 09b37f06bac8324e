package model

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// bytesPerToken is more text than a token holds on the average in any language
// and in code, so that a count made with it is a lower bound.
const bytesPerToken = 8

// Floor returns the fewest tokens that n bytes of text can be.
func Floor(n int) uint64 { return uint64(n) / bytesPerToken }

// Size returns the bytes of everything in q that a model reads.
func (r *Request) Size() int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Text) + callsSize(m.Calls)
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// Size returns the bytes of everything that the model wrote.
func (r *Response) Size() int { return len(r.Text) + callsSize(r.Calls) }

func callsSize(calls []*loomv1.ToolCall) int {
	n := 0
	for _, c := range calls {
		n += len(c.GetTool()) + len(c.GetArguments())
	}
	return n
}
