package tool

// Grouped returns s with processes kept together by group and mark, as on a
// system that has no PID namespace to give.
func (s *Set) Grouped() *Set {
	return &Set{ws: s.ws, decisions: s.decisions, processes: grouped()}
}

// Namespaces says whether this system has PID namespaces to give.
func Namespaces() bool { return namespaces() }
