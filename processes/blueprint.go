package processes

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Planner is the id of the node that plans the phases of a process whose mode
// is not strict, and planRole the role of who does it.
const (
	Planner  = "planner"
	planRole = "lead"
)

// maxBlueprint bounds what a planner is given of a process, in bytes.
const maxBlueprint = 96 << 10

// plans says whether the phases are for a planner to look at first.
func (d *draft) plans() bool { return slices.Contains([]string{"", Guided, Suggestive}, d.PhaseMode) }

// planNodes makes the node that plans and those that look at the plan, and
// returns the nodes that the phases wait for.
func (w *weaver) planNodes(entry []string) []string {
	if w.plans() {
		id := w.node([]any{"phase_mode"}, &loomv1.NodeDefinition{
			Id: Planner, Type: task, Role: planRole, Outcome: map[string]string{"plan": "object"},
			Description: "Plan how the goal is reached: which phases there are, what each does and delivers, and what waits for what.",
			Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_PLAN, ModelTier: 1},
		})
		w.join(entry, id, "phase_mode")
		entry = []string{id}
	}
	from := len(w.def.Nodes)
	entry = w.hooks("after_plan", "after-plan", entry)
	if w.plans() && len(w.Phases) > 0 {
		w.def.Blueprint = w.blueprint()
		for _, n := range w.def.Nodes[from:] {
			w.def.Blueprint.After = append(w.def.Blueprint.After, n.Id)
		}
	}
	return entry
}

func (d *draft) blueprint() *loomv1.Blueprint {
	source := d.phasesFile.text()
	if len(source) > maxBlueprint {
		d.refuse("process/plan", []any{"phases"}, "a planner would have to read %d bytes, more than %d", len(source), maxBlueprint).
			Want("shorter phases, or phase_mode: strict")
		source = ""
	}
	return &loomv1.Blueprint{Mode: orElse(d.PhaseMode, Guided), Source: source}
}

// text writes a process as one document without includes: JSON, which is YAML.
// The same file gives the same text.
func (f phasesFile) text() string {
	f.Includes = nil
	data, err := json.Marshal(plainValue(reflect.ValueOf(f)))
	if err != nil {
		panic(err) // texts, numbers and truth values
	}
	return string(data)
}

// plainValue is a value by the keys of the file, without what is not given.
func plainValue(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plainValue(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainValue(v.Index(i))
		}
		return list
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				m[v.Type().Field(i).Tag.Get("yaml")] = plainValue(v.Field(i))
			}
		}
		return m
	}
	return v.Interface()
}

// Outline tells what a definition leaves to a planner: its process as the
// author wrote it, and as it is planned now, which is the same at first. It
// returns nil for a definition that leaves nothing.
func Outline(def *loomv1.Definition, rs *roles.Set) (written, now *Process) {
	b := def.GetBlueprint()
	if b.GetSource() == "" {
		return nil, nil
	}
	written = parse(Source{File: "blueprint", Data: []byte(b.Source)}, rs).process()
	if b.Planned == "" {
		return written, written
	}
	return written, parse(Source{File: "blueprint", Data: []byte(b.Planned)}, rs).process()
}

func (f *blueprintFile) message() *loomv1.Blueprint {
	if f == nil {
		return nil
	}
	return &loomv1.Blueprint{Mode: f.Mode, Source: f.Source, Planned: f.Planned, After: f.After}
}

func (w *writer) blueprint(b *loomv1.Blueprint) {
	if b == nil {
		return
	}
	w.line("blueprint:")
	w.in("  ", func() {
		w.key("mode", plain(b.Mode))
		w.key("source", plain(b.Source))
		w.key("planned", plain(b.Planned))
		w.key("after", list(b.After))
	})
}

// blueprint checks what a definition leaves to a planner: it is a process that
// can be read, and there is a node that plans.
func (v *validator) blueprint() {
	b := v.def.Blueprint
	if b == nil {
		return
	}
	if b.Mode != Guided && b.Mode != Suggestive {
		v.refuse("process/mode", at("blueprint", "mode"), "unknown mode").Got(b.Mode).Want("guided or suggestive")
	}
	for _, text := range []struct{ key, value string }{{"source", b.Source}, {"planned", b.Planned}} {
		if len(text.value) > maxBlueprint || text.value != "" && len(phasesOf(text.value).Phases) == 0 {
			v.refuse("process/plan", at("blueprint", text.key), "it is no process with phases of at most %d bytes", maxBlueprint)
		}
	}
	if i := slices.IndexFunc(v.def.Nodes, func(n *loomv1.NodeDefinition) bool { return n.Id == Planner }); i < 0 {
		v.refuse("process/plan", at("blueprint"), "no node %q makes a plan of it", Planner)
	}
}
