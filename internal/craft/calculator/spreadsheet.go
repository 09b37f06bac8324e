package calculator

import (
	"strings"
)

// Spreadsheet writes the expression as spreadsheet programs read it, without
// the leading "=", with cell giving the cell or range of each name. Everything
// is in parentheses, because the programs have other precedences.
func (e *Expression) Spreadsheet(cell func(name string) string) string {
	return e.root.spreadsheet(cell)
}

func (n *node) spreadsheet(cell func(string) string) string {
	switch n.kind {
	case number:
		return n.value.String()
	case name:
		return cell(n.text)
	}
	args := make([]string, len(n.args))
	for i, a := range n.args {
		args[i] = a.spreadsheet(cell)
	}
	switch {
	case n.kind == call:
		return n.call(args)
	case n.text == "%":
		return "(" + args[0] + "/100)"
	case len(args) == 1:
		return "(" + n.text + args[0] + ")"
	case strings.ContainsAny(n.text, "<>=!"):
		return "N(" + args[0] + strings.ReplaceAll(n.text, "!=", "<>") + args[1] + ")"
	}
	return "(" + args[0] + n.text + args[1] + ")"
}

func (n *node) call(args []string) string {
	list := strings.Join(args, ",")
	switch n.text {
	case "round":
		if len(args) == 1 {
			list += ",0"
		}
	case "floor":
		return "INT(" + list + ")"
	case "ceiling":
		return "(-INT(-(" + list + ")))"
	case "and", "or", "not":
		return "N(" + functions[n.text].spreadsheet + "(" + list + "))"
	}
	return functions[n.text].spreadsheet + "(" + list + ")"
}
