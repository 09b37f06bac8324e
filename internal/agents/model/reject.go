package model

import (
	"errors"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// rejected is an error about an answer that is of no use, with the answer.
type rejected struct {
	cause  error
	answer *Response
}

func (r *rejected) Error() string { return r.cause.Error() }
func (r *rejected) Unwrap() error { return r.cause }

// Reject returns err with the answer that it is about. Nobody acts on that; it is
// kept for whoever is told why.
func Reject(err error, answer *Response) error { return &rejected{err, answer} }

// Rejected returns the answer that err is about, or nil: its text, and its calls as
// far as they were understood.
func Rejected(err error) *Response {
	if r, ok := errors.AsType[*rejected](err); ok {
		return r.answer
	}
	return nil
}

// told is an answer as it may be told of: whatever it holds is text, and there is
// not more of it than of a sound one.
func told(r *Response) *Response {
	return &Response{
		Text: cleanText(r.Text[:min(len(r.Text), MaxText)]), Calls: toldCalls(r.Calls),
		Usage: r.Usage, Stop: r.Stop, Model: r.Model, By: r.By, Scripted: r.Scripted,
	}
}

// toldCalls are the first calls of an answer, each with at most what all may have.
func toldCalls(calls []*loomv1.ToolCall) (list []*loomv1.ToolCall) {
	for _, c := range calls[:min(len(calls), MaxCalls)] {
		arguments := c.GetArguments()
		list = append(list, &loomv1.ToolCall{
			Id: cleanText(c.GetId()), Tool: cleanText(c.GetTool()), Arguments: cleanText(arguments[:min(len(arguments), MaxArguments)]),
		})
	}
	return list
}
