package console

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// BlocksText says which models cannot be asked, and what the operator can do.
func BlocksText(w io.Writer, list []*loomv1.ModelBlock) {
	for _, b := range list {
		fmt.Fprint(w, BlockText(b))
	}
}

// BlockText says which model cannot be asked, and what the operator can do.
func BlockText(b *loomv1.ModelBlock) string {
	return fmt.Sprintf("work waits for the operator, and goes on by itself when it is mended: %s [%s]\n  %s\n", Printable(b.Message), b.Code, b.Remedy)
}

// ParseTime reads a time as RFC 3339 has it, or how long before now.
func ParseTime(flag, s string, now time.Time) (*timestamppb.Timestamp, error) {
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return timestamppb.New(now.Add(-ago)), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || timestamppb.New(t).CheckValid() != nil {
		return nil, fault.New("usage/argument", "not a moment").At(flag).Got(s).
			Want("for example 2026-01-02T12:00:00Z, or 10m for ten minutes ago")
	}
	return timestamppb.New(t), nil
}

// Printable takes out of a text what a terminal would obey: control characters
// but for line ends and tabs, and characters that turn or hide text.
func Printable(s string) string {
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

// Plainly is s with what steers a terminal or is not seen spelt out: for what
// somebody looks at before he trusts it.
func Plainly(s string) string {
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

// ofHost is what names an agent's host behind its name.
var ofHost = regexp.MustCompile(`@h-[a-z2-7]{16}\b`)

// WithoutHost is a text in which agents are named without their host: where there is
// one alone, its id says nothing.
func WithoutHost(s string) string { return ofHost.ReplaceAllString(s, "") }

// Line is printable on one line, at most n runes.
func Line(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(Printable(s)), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// cellMost is the most runes of a cell; what can be longer is cut before.
const cellMost = 1000

// Table writes rows with aligned columns, under heads in capitals, without
// blanks at the ends of lines. A cell is one line, and steers no terminal. Where the
// width is known, the widest columns are cut until a row fits; the first never is, since
// it says what a row is about. Where no row can fit, each is a record: a line a cell.
func Table(w io.Writer, heads []string, rows [][]string) {
	width := widthOf(w)
	most, fits := columns(heads, rows, width)
	if !fits {
		records(w, width, heads, rows)
		return
	}
	table := [][]string{{}}
	for _, head := range heads {
		table[0] = append(table[0], strings.ToUpper(head))
	}
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = Cut(Line(cell, cellMost), most[i])
		}
		table = append(table, cells)
	}
	wide := make([]int, len(most))
	for _, r := range table {
		for i, cell := range r {
			wide[i] = max(wide[i], Columns(cell))
		}
	}
	for _, r := range table {
		var line strings.Builder
		for i, cell := range r {
			line.WriteString(padded(cell, wide[i]+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// records writes each row below the one before: its first cell, and under it the others
// with their heads, on a screen that is too narrow for columns.
func records(w io.Writer, width int, heads []string, rows [][]string) {
	most := 0
	for _, head := range heads {
		most = max(most, Columns(head))
	}
	whole := w // what a row is about is found by whole words
	if f, ok := w.(folder); ok {
		whole = f.w
	}
	w = Folded(whole, width, most+4)
	for _, r := range rows {
		for i, cell := range r {
			switch text := Line(cell, cellMost); {
			case i == 0:
				fmt.Fprintln(whole, text)
			case text != "" && i < len(heads):
				fmt.Fprintf(w, "  %s  %s\n", padded(heads[i], most), text)
			}
		}
	}
}

// ProjectTable is [Table] of rows whose first cell is a project. It has that column
// where there are rows of several projects.
func ProjectTable(w io.Writer, heads []string, rows [][]string) {
	if slices.ContainsFunc(rows, func(r []string) bool { return r[0] != rows[0][0] }) {
		Table(w, append([]string{"project"}, heads...), rows)
		return
	}
	for i := range rows {
		rows[i] = rows[i][1:]
	}
	Table(w, heads, rows)
}

// narrowColumn is the least that a column is cut to, its head allowing; narrowText is
// that of the last, which is mostly text: less of it says nothing.
const (
	narrowColumn = 8
	narrowText   = 16
)

// wholeColumns are the heads of columns that are never cut: two digests of which too
// little is shown would look the same.
var wholeColumns = []string{"digest", "hash"}

// columns returns how wide each column's cells may be, so that a row has at most
// width columns, and whether that can be; width 0 is any.
func columns(heads []string, rows [][]string, width int) (most []int, fits bool) {
	n := len(heads)
	for _, r := range rows {
		n = max(n, len(r))
	}
	most = make([]int, n)
	wide, least := make([]int, n), make([]int, n)
	total := 2 * (n - 1)
	for i := range n {
		most[i], least[i] = cellMost, narrowColumn
		if i < len(heads) {
			wide[i] = Columns(heads[i])
			least[i] = max(least[i], wide[i])
		}
		for _, r := range rows {
			if i < len(r) {
				wide[i] = max(wide[i], Columns(Line(r[i], cellMost)))
			}
		}
		if i < len(heads) && slices.Contains(wholeColumns, heads[i]) {
			least[i] = wide[i]
		}
		if i == n-1 && i > 0 {
			least[i] = max(least[i], narrowText)
		}
		total += wide[i]
	}
	for width > 0 && total > width {
		widest := 0
		for i := 1; i < n; i++ {
			if wide[i] > least[i] && (widest == 0 || wide[i] > wide[widest]) {
				widest = i
			}
		}
		if widest == 0 {
			return most, false
		}
		wide[widest]--
		most[widest] = wide[widest]
		total--
	}
	return most, true
}

// Who names somebody for people.
func Who(id *loomv1.Identity) string {
	switch {
	case id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO && id.GetName() != "":
		return "the CEO (" + Line(id.Name, 40) + ")"
	case id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO:
		return "the CEO"
	case id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS:
		return "a client without credentials"
	case id.GetName() == "" && id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER:
		return "a publisher"
	}
	return Dash(Line(id.GetName(), 80))
}

// Clock is a time of the day.
func Clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format("15:04:05.000")
}

// Exact is a moment to the last digit, as flags take it.
func Exact(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

// Stamp is a moment in the zone of the reader, "-" for none.
func Stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format("2006-01-02 15:04:05")
}

// Since is the time between two moments, up to now where there is no second; "-" where there is no first.
func Since(from, to *timestamppb.Timestamp) string {
	if from == nil {
		return "-"
	}
	end := time.Now()
	if to != nil {
		end = to.AsTime()
	}
	return end.Sub(from.AsTime()).Round(time.Millisecond).String()
}

// Dash is s, or "-" where it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Count is a number with its noun.
func Count(n int, what string) string { return fault.Count(n, what) }
