package processes

import _ "embed"

//go:embed auto-bug-workflow/routes.yaml
var routes []byte

// RoutesFile returns the rules that come with Loom for who is to mend what,
// and the name of their file; package project reads them.
func RoutesFile() (name string, data []byte) { return "auto-bug-workflow/routes.yaml", routes }
