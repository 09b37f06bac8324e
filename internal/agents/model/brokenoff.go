package model

import "errors"

// Cut is what is known of a call that was broken off by whoever made it.
type Cut struct {
	// Sent says that the server was asked: what it has written by then may be paid for.
	Sent bool
	// Known says that the call has used no more than Input and Output, as far as the
	// server shows what it writes: some reason unseen.
	Known bool
	// Input is the prompt as the server counted it; 0 where it did not say.
	Input uint64
	// Output bounds what was written, also what had not come in yet.
	Output uint64
}

// cutOff is the context's error that ended a call, with what is known of that.
type cutOff struct {
	cause error
	cut   Cut
}

func (c *cutOff) Error() string { return c.cause.Error() }
func (c *cutOff) Unwrap() error { return c.cause }

// CutOff returns the error that ended a call with what is known of the call.
func CutOff(err error, c Cut) error { return &cutOff{err, c} }

// CutOf returns what is known of a call that was broken off with err: nothing, and that
// it may have been made, where err does not say.
func CutOf(err error) Cut {
	if c, ok := errors.AsType[*cutOff](err); ok {
		return c.cut
	}
	return Cut{Sent: true}
}
