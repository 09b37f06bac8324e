package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// printable takes out of a text what a terminal would obey: control characters
// but for line ends and tabs, and characters that turn or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// plainly is s with what steers a terminal or is not seen spelt out: for what
// somebody looks at before he trusts it.
func plainly(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// line is printable on one line, at most n runes.
func line(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(printable(s)), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// cellMost is the most runes of a cell; what can be longer is cut before.
const cellMost = 1000

// table writes rows with aligned columns, under heads in capitals, without
// blanks at the ends of lines. A cell is one line, and steers no terminal.
func table(w io.Writer, heads []string, rows [][]string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(heads, "\t")))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = line(cell, cellMost)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush()
	for l := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(l, " \n"))
	}
}

// who names somebody for people.
func who(id *loomv1.Identity) string {
	switch {
	case id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO:
		return "the CEO"
	case id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS:
		return "a client without credentials"
	case id.GetName() == "" && id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER:
		return "a publisher"
	}
	return dash(line(id.GetName(), 80))
}

func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format("15:04:05.000")
}

// exact is a moment to the last digit, as flags take it.
func exact(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format("2006-01-02 15:04:05")
}

func since(from, to *timestamppb.Timestamp) string {
	if from == nil {
		return "-"
	}
	end := time.Now()
	if to != nil {
		end = to.AsTime()
	}
	return end.Sub(from.AsTime()).Round(time.Millisecond).String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
