package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Problems prints what is wrong with a file to standard error, one FILE:LINE:COL:
// CODE: sentence a line, or all as a JSON list on standard output.
func (a *Console) Problems(err error) error {
	all := All(err)
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

// Validated says what validating files has found: a problem a line and their number, or
// all as a JSON list. It exits as for what is invalid, or refused where the first is.
func (a *Console) Validated(all []*fault.Error, files int) error {
	if a.JSON {
		if err := a.ProblemList(all); err != nil {
			return err
		}
	} else {
		ProblemLines(a.Out, all)
		fmt.Fprintf(a.Err, "%s, %s\n", Count(files, "file"), Count(len(all), "problem"))
	}
	if len(all) == 0 {
		return nil
	}
	if fault.Status(all[0]) == fault.Refused {
		return ExitError{fault.Refused}
	}
	return ExitError{fault.Invalid}
}

// All are the errors that err has put together.
func All(err error) []*fault.Error { return fault.All(err) }

// InOrder returns errors in the order of their places, those of one place once each.
func InOrder(err error) error {
	all := All(err)
	slices.SortStableFunc(all, func(a, b *fault.Error) int {
		fileA, lineA, columnA := placed(a.Where)
		fileB, lineB, columnB := placed(b.Where)
		return cmp.Or(strings.Compare(fileA, fileB), lineA-lineB, columnA-columnB)
	})
	return fault.Join(slices.CompactFunc(all, func(a, b *fault.Error) bool {
		return a.Where == b.Where && a.Code == b.Code && a.Message == b.Message && a.Value == b.Value
	}))
}

// placed reads FILE:LINE:COLUMN.
func placed(where string) (file string, line, column int) {
	parts := strings.Split(where, ":")
	if len(parts) < 3 {
		return where, 0, 0
	}
	line, _ = strconv.Atoi(parts[len(parts)-2])
	column, _ = strconv.Atoi(parts[len(parts)-1])
	return strings.Join(parts[:len(parts)-2], ":"), line, column
}
