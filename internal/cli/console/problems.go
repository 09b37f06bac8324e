package console

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/loomrun/loom/internal/base/fault"
)

// Problems prints what is wrong with a file to standard error, one FILE:LINE:COL:
// CODE: sentence a line, or all as a JSON list on standard output.
func (a *Console) Problems(err error) error {
	all := []*fault.Error{}
	if f := fault.From(err); f != nil {
		all = append(append(all, f), f.More...)
	}
	if a.JSON {
		if werr := a.ProblemList(all); werr != nil {
			return werr
		}
	} else {
		ProblemLines(a.Err, all)
	}
	if err == nil {
		return nil
	}
	return ExitError{fault.Status(err)}
}

// ProblemList writes problems as a JSON list.
func (a *Console) ProblemList(all []*fault.Error) error {
	list := []json.RawMessage{}
	for _, p := range all {
		one := *p
		one.More = nil
		list = append(list, JSONOf(one.Proto()))
	}
	return json.NewEncoder(a.Out).Encode(list)
}

// ProblemLines writes one problem a line, FILE:LINE:COL: CODE: sentence.
func ProblemLines(w io.Writer, all []*fault.Error) {
	for _, p := range all {
		text := p.Message
		if p.Value != "" {
			text += " (got " + p.Value + ")"
		}
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		fmt.Fprintf(w, "%s: %s: %s\n", Printable(p.Where), p.Code, Line(text, 2000))
	}
}
