package processes

// Why a phase is critical that does not say of itself whether it is.
const (
	declared  = "declared"
	puts      = "synthesis"
	bottle    = "all later phases depend on it"
	onlyLast  = "the only last phase"
	onlyPhase = "the only phase"
)

// critical says whether a phase is critical, and why: because it says so or, where it
// says nothing, by what it is.
func (d *draft) critical(i int) (is bool, why string) {
	if said := d.Phases[i].IsCriticalPath; said != nil {
		return *said, map[bool]string{true: declared}[*said]
	}
	why = d.byNature(i)
	return why != "", why
}

// byNature says why a phase is critical unless it says otherwise, or "": a synthesis,
// and a phase beside which nothing is done, so that all before it leads to it and all
// after it builds on it. The last stage of a document only records.
func (d *draft) byNature(i int) string {
	p := &d.Phases[i]
	after, before := d.reach(i, d.after), d.reach(i, d.before)
	switch {
	case p.Detached, p.Document == "postlog":
		return ""
	case p.IsSynthesis:
		return puts
	case len(after)+len(before)+1 < len(d.ids()):
		return ""
	case len(after) > 0:
		return bottle
	case len(before) > 0:
		return onlyLast
	}
	return onlyPhase
}

// reach returns the phases that one comes to by next, without itself.
func (d *draft) reach(from int, next func(int) []int) map[int]bool {
	seen := map[int]bool{}
	todo := next(from)
	for len(todo) > 0 {
		i := todo[0]
		if todo = todo[1:]; !seen[i] && i != from {
			seen[i] = true
			todo = append(todo, next(i)...)
		}
	}
	return seen
}

// after returns the indices of the phases that depend on one.
func (d *draft) after(i int) (list []int) {
	for j := range d.Phases {
		for _, on := range d.before(j) {
			if on == i && d.first(d.Phases[j].ID) == j {
				list = append(list, j)
			}
		}
	}
	return list
}

// lightly warns of a phase that says it is not critical, though by what it is it would be.
func (d *draft) lightly(i int, at []any) {
	p := &d.Phases[i]
	if p.IsCriticalPath == nil || *p.IsCriticalPath {
		return
	}
	means := map[string]string{
		puts:      "it puts together what the others found",
		bottle:    "all later phases depend on it",
		onlyLast:  "all other phases lead to it alone",
		onlyPhase: "there is no other phase",
	}[d.byNature(i)]
	if means != "" {
		d.warn("process/critical", at, "phase %q is not critical, though %s: without it the work goes on, nobody is asked, and what is delivered lacks it", p.ID, means).
			Want("leave is_critical_path out, or make it true")
	}
}
