package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// failure is a failing Go test that says what it called, what it got and what
// it wanted.
type failure struct {
	test      string
	function  string
	arguments []string
	line      string // as the test printed it
}

var (
	failedTest = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	wrongValue = regexp.MustCompile(`^\s+\S+_test\.go:\d+: ((\w+)\(([^()]*)\) = .+, want .+)$`)
	passed     = regexp.MustCompile(`(?m)^ok\s`)
	failedAny  = regexp.MustCompile(`(?m)^(FAIL|\s*--- FAIL|panic:)`)
)

// testsFail and testsPass read the output of go test. Output that is neither
// shows that nothing was tested.
func testsFail(output string) bool { return failedAny.MatchString(output) }
func testsPass(output string) bool { return passed.MatchString(output) && !testsFail(output) }

// failures reads the failing tests that can be understood.
func failures(output string) []failure {
	var out []failure
	test := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if m := failedTest.FindStringSubmatch(line); m != nil {
			test = m[1]
		}
		if m := wrongValue.FindStringSubmatch(line); m != nil {
			out = append(out, failure{test, m[2], split(m[3]), m[1]})
		}
	}
	return out
}

// split cuts a list at its commas.
func split(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// failingLines returns the lines of output that tell of failures, for notes.
func failingLines(output string) string {
	var out []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if failedAny.MatchString(line) || wrongValue.MatchString(line) {
			out = append(out, line)
		}
	}
	const most = 20
	return strings.Join(out[:min(len(out), most)], "\n")
}

var place = regexp.MustCompile(`([\w./-]+\.go)\b:?(\d*)`)

// sourceIn returns the first Go file in the output of a search that is no
// test.
func sourceIn(output string) string {
	for _, m := range place.FindAllStringSubmatch(output, -1) {
		if !strings.HasSuffix(m[1], "_test.go") {
			return strings.TrimPrefix(m[1], "./")
		}
	}
	return ""
}

var numbered = regexp.MustCompile(`^\s*\d+(?:\t|: |\| ?|→)(.*)$`)

// sourceLines returns the lines of a file as a tool shows it, without the
// numbers that some tools put before them.
func sourceLines(shown string) []string {
	lines := strings.Split(strings.TrimRight(shown, "\n"), "\n")
	var out []string
	for _, line := range lines {
		if m := numbered.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
	}
	if len(out)*2 > len(lines) {
		return out
	}
	return lines
}

// suspect is a comparison that decides at the very value that a failing test
// is about.
type suspect struct {
	path       string
	line       int      // from 1
	block      []string // from the head of the function to the comparison
	left       string
	operator   string
	right      string
	constant   string // the operand that is a named constant, if there is one
	value      string // what both sides are
	expression string
}

var (
	comparison = regexp.MustCompile(`([A-Za-z_][\w.]*|\d+)\s*(<=|>=|<|>)\s*([A-Za-z_][\w.]*|\d+)`)
	parameters = regexp.MustCompile(`^func (?:\([^)]*\) )?\w+\(([^)]*)\)`)
)

// suspects returns the comparisons in f's function whose two sides are equal
// in the failing call: there, < and <= give different answers.
func suspects(f failure, path string, lines []string) []suspect {
	start, end, ok := body(f.function, lines)
	if !ok {
		return nil
	}
	values := bind(lines[start], f.arguments)
	var out []suspect
	for n := start; n < end; n++ {
		for _, m := range comparison.FindAllStringSubmatch(lines[n], -1) {
			left, right := evaluate(m[1], values, lines), evaluate(m[3], values, lines)
			if left == "" || left != right {
				continue
			}
			out = append(out, suspect{
				path: path, line: n + 1, block: lines[start : n+1], left: m[1], operator: m[2], right: m[3],
				constant: constantOf(values, m[1], m[3]), value: left, expression: m[0],
			})
		}
	}
	return out
}

// body returns the lines of a function, its closing brace excluded.
func body(function string, lines []string) (start, end int, ok bool) {
	head := regexp.MustCompile(`^func (?:\([^)]*\) )?` + regexp.QuoteMeta(function) + `\(`)
	for start = range lines {
		if !head.MatchString(lines[start]) {
			continue
		}
		for end = start + 1; end < len(lines); end++ {
			if strings.HasPrefix(lines[end], "}") {
				return start, end, true
			}
		}
	}
	return 0, 0, false
}

// bind gives the parameters of a function's head the arguments of a call.
func bind(head string, arguments []string) map[string]string {
	values := map[string]string{}
	m := parameters.FindStringSubmatch(head)
	if m == nil {
		return values
	}
	for i, p := range split(m[1]) {
		name, _, _ := strings.Cut(p, " ")
		if i < len(arguments) {
			values[name] = arguments[i]
		}
	}
	return values
}

// evaluate returns the number that an operand is: a literal, a parameter, or
// a constant of the same file; "" if it is none.
func evaluate(operand string, values map[string]string, lines []string) string {
	if v, ok := values[operand]; ok {
		operand = v
	}
	if n, err := strconv.ParseInt(operand, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	constant := regexp.MustCompile(`^(?:const\s+|\t)` + regexp.QuoteMeta(operand) + `(?:\s+\w+)?\s*=\s*(\d+)\s*(?://.*)?$`)
	for _, line := range lines {
		if m := constant.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

// constantOf returns the operand that is neither a parameter nor a number.
func constantOf(values map[string]string, operands ...string) string {
	for _, o := range operands {
		if _, bound := values[o]; !bound && (o[0] < '0' || o[0] > '9') {
			return o
		}
	}
	return ""
}

// mended is the comparison that answers the other way where both sides are
// equal, and as before everywhere else.
func (s suspect) mended() string {
	other := map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
	return fmt.Sprintf("%s %s %s", s.left, other[s.operator], s.right)
}

// edit returns the text to replace and its replacement. It reaches back to
// the head of the function, so that it stands only once in the file.
func (s suspect) edit() (before, after string) {
	last := len(s.block) - 1
	head := strings.Join(s.block[:last], "\n") + "\n"
	return head + s.block[last], head + strings.Replace(s.block[last], s.expression, s.mended(), 1)
}

// where names the place of the comparison.
func (s suspect) where() string { return fmt.Sprintf("%s:%d", s.path, s.line) }
