package project

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Reporting is what a file says of error reports: who is to mend what, and how
// many beads may be filed without a person.
type Reporting struct {
	Routes   []*loomv1.Route
	Governor *loomv1.Governor
}

// reportingFile is how a file spells it; the fields are those of the messages.
type reportingFile struct {
	Routes   []routeFile   `yaml:"routes" loom:"required"`
	Governor *governorFile `yaml:"governor"`
}

type routeFile struct {
	Service    string            `yaml:"service"`
	Kind       string            `yaml:"kind"`
	Message    string            `yaml:"message"`
	Attributes map[string]string `yaml:"attributes"`
	StatusFrom int32             `yaml:"status_from"`
	StatusTo   int32             `yaml:"status_to"`
	Assignee   string            `yaml:"assignee"`
	Process    string            `yaml:"process"`
	Priority   string            `yaml:"priority"`
	Labels     []string          `yaml:"labels"`
	Ignore     bool              `yaml:"ignore"`
}

type governorFile struct {
	Reported  uint32        `yaml:"reported"`
	SelfFiled uint32        `yaml:"self_filed"`
	Window    time.Duration `yaml:"window"`
}

var builtinRoutes = mustReporting(processes.RoutesFile()).Routes

func mustReporting(file string, data []byte) Reporting {
	r, err := ParseReporting(file, data, roles.Builtin())
	if err != nil {
		panic(err) // it comes with this build
	}
	return r
}

// ParseReporting reads a file of routing rules, YAML as package strictyaml has
// it, and returns all that is wrong with it as FILE:LINE:COL: the codes are
// yaml/..., route/invalid, role/unknown and id/malformed. An assignee must be a
// role of rs that is no person; a process is checked where it is used.
func ParseReporting(file string, data []byte, rs *roles.Set) (Reporting, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return Reporting{}, err
	}
	var f reportingFile
	doc.Decode(&f)
	r := Reporting{Governor: f.Governor.message()}
	for i := range f.Routes {
		route, bad := f.Routes[i].message(rs)
		for _, w := range bad {
			path := append([]any{"routes", i}, steps(w.key)...)
			if !doc.Broken(path...) {
				doc.Add(w.err, path...)
			}
		}
		r.Routes = append(r.Routes, route)
	}
	if len(f.Routes) > MaxRoutes {
		doc.Add(fault.New("route/invalid", "%d rules, the most is %d", len(f.Routes), MaxRoutes), "routes")
	}
	for _, e := range checkGovernor(r.Governor) {
		doc.Add(e, "governor", "window")
	}
	return r, doc.Err()
}

// steps turns "attributes.name" and "labels[2]" into a path.
func steps(key string) []any {
	name, rest, dotted := strings.Cut(key, ".")
	if dotted {
		return []any{name, rest}
	}
	var i int
	if name, index, ok := strings.Cut(key, "["); ok {
		if _, err := fmt.Sscanf(index, "%d]", &i); err == nil {
			return []any{name, i}
		}
	}
	return []any{key}
}

// message returns the rule that a file spells, and all that is wrong with it.
func (f routeFile) message(rs *roles.Set) (*loomv1.Route, []wrong) {
	r := &loomv1.Route{
		Service: f.Service, Kind: f.Kind, Message: f.Message, Attributes: f.Attributes, StatusFrom: f.StatusFrom, StatusTo: f.StatusTo,
		Assignee: f.Assignee, Process: f.Process, Labels: f.Labels, Ignore: f.Ignore,
	}
	bad := checkRoute(r)
	if e := CheckAssignee(f.Assignee, rs); e != nil && fault.Code(e) != "id/malformed" {
		bad = append(bad, wrong{"assignee", e})
	}
	if f.Priority != "" {
		r.Priority = loomv1.Priority(loomv1.Priority_value["PRIORITY_"+strings.ToUpper(f.Priority)])
		if r.Priority == loomv1.Priority_PRIORITY_UNSPECIFIED {
			bad = append(bad, wrong{"priority", fault.New("route/invalid", "priority is not known").Got(f.Priority).
				Want("%s", suggest.Among(f.Priority, []string{"urgent", "normal", "low"}))})
		}
	}
	return r, bad
}

func (g *governorFile) message() *loomv1.Governor {
	if g == nil {
		return nil
	}
	m := &loomv1.Governor{Reported: g.Reported, SelfFiled: g.SelfFiled}
	if g.Window != 0 {
		m.Window = durationpb.New(g.Window)
	}
	return m
}

// CheckAssignee refuses what is no role of rs, or a person's; none is fine.
func CheckAssignee(name string, rs *roles.Set) *fault.Error {
	if name == "" {
		return nil
	}
	role, known := rs.Get(name)
	switch {
	case !known:
		return fault.New("role/unknown", "no such role").At("assignee").Got(name).Want("%s", suggest.Among(name, rs.Names()))
	case role.Human:
		return fault.New("bead/invalid", "role %q is a person, who is asked and not assigned", name).At("assignee")
	case role.Name != name:
		return fault.New("bead/invalid", "%q is another name of role %q", name, role.Name).At("assignee").Got(name).Want("%s", role.Name)
	}
	return nil
}
