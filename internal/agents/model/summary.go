package model

// Summarizer is a provider that is no language model and knows which conversations it
// can summarise.
type Summarizer interface {
	// Summarizes reports whether it has an answer to a request for a summary.
	Summarizes(r *Request) bool
}

// Summarizes reports whether p is to be asked for a summary. A language model is; a
// script stands in for a model in the work alone, and is not.
func Summarizes(p Provider, r *Request) bool {
	if s, ok := p.(Summarizer); ok {
		return s.Summarizes(r)
	}
	return !p.Scripted()
}
