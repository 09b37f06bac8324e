package models

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/roles"
)

// Models says which model answers for which role.
type Models struct {
	Spec        string // for every role that nothing else is said of
	Tiers, Own  []string
	byTier      map[int]string
	byRole      map[string]string
	defaultFrom string
	Console     *console.Console
	// Later says that a model may be named later: until then work waits.
	Later bool
}

// Flags adds the flags that it is read from.
func (m *Models) Flags(f *pflag.FlagSet) {
	f.StringVar(&m.Spec, "model", "", "`MODEL` of all roles (default: $LOOM_MODEL)")
	f.StringArrayVar(&m.Tiers, "tier", nil, "model of a tier, 1 to 3 (the strongest), `N=MODEL`")
	f.StringArrayVar(&m.Own, "role-model", nil, "model of a role, `ROLE=MODEL`")
}

// Read reads what the flags were given, and returns all that is wrong.
func (m *Models) Read(set *roles.Set) []*fault.Error {
	var errs []*fault.Error
	m.defaultFrom, m.byTier, m.byRole = m.Console.Said("model", "", "--model"), map[int]string{}, map[string]string{}
	for _, s := range m.Tiers {
		text, spec, ok := strings.Cut(s, "=")
		n, err := strconv.Atoi(text)
		if !ok || spec == "" || err != nil || n < 1 || n > 3 {
			errs = append(errs, fault.New("usage/argument", "not N=MODEL with a tier from 1 to 3").At("--tier").Got(s))
		}
		m.byTier[n] = spec
	}
	for _, s := range m.Own {
		name, spec, ok := strings.Cut(s, "=")
		r, known := set.Get(name)
		switch {
		case !ok || spec == "":
			errs = append(errs, fault.New("usage/argument", "not ROLE=MODEL").At("--role-model").Got(s))
		case !known || r.Human:
			errs = append(errs, fault.New("role/unknown", "no role of agents").At("--role-model").Got(name).Want("%s", suggest.Among(name, set.Names())))
		}
		m.byRole[r.Name] = spec
	}
	return errs
}

// Of returns the model of a role and what names it: the first of --role-model,
// the role's file, --tier and the default that says anything.
func (m *Models) Of(r roles.Role) (spec, from string) {
	switch {
	case r.Human:
		return "", ""
	case m.byRole[r.Name] != "":
		return m.byRole[r.Name], m.Console.Said("role-model", r.Name, "--role-model "+r.Name)
	case r.Model != "":
		return r.Model, "role " + r.Name
	case m.byTier[r.Tier] != "":
		return m.byTier[r.Tier], m.Console.Said("tier", strconv.Itoa(r.Tier), "--tier "+strconv.Itoa(r.Tier))
	}
	return m.Spec, m.defaultFrom
}

// Open opens the models of all roles. They share the rate limits of their keys.
// All that is wrong is reported at once.
func (m *Models) Open(c *host.Config, set *roles.Set) error {
	errs := m.Read(set)
	if m.Spec == "" && !m.Later {
		errs = append(errs, fault.New("usage/argument", "no model is named").At("--model").Want("anthropic:MODEL, google:MODEL, openai:MODEL, or scripted:demo for the demo's repository"))
	}
	o := opener{opened: map[string]model.Provider{}}
	var err error
	if o.config, err = m.Console.Providers(); err != nil {
		errs = append(errs, fault.From(err))
	}
	o.config.Gates = &wire.Gates{}
	c.Model, c.Models = o.open(m.Spec, m.defaultFrom), map[string]model.Provider{}
	if m.Spec == "" && m.Later {
		c.Model = model.None{}
	}
	c.Tiers = map[int]model.Provider{}
	for _, n := range slices.Sorted(maps.Keys(m.byTier)) {
		c.Tiers[n] = o.open(m.byTier[n], m.Console.Said("tier", strconv.Itoa(n), "--tier "+strconv.Itoa(n))) // also one that no role has
	}
	for _, name := range set.Names() {
		r, _ := set.Get(name)
		if spec, from := m.Of(r); !r.Human && spec != m.Spec {
			c.Models[name] = o.open(spec, from)
		}
		o.reasons(r, cmp.Or(c.Models[name], c.Model))
		o.reasons(r, c.Tiers[r.Architect])
	}
	return fault.Join(append(errs, o.errs...))
}

// reasons reports a role whose model cannot be asked to reason as its file says.
func (o *opener) reasons(r roles.Role, p model.Provider) {
	if p == nil {
		return
	}
	if err := model.CanThink(p, model.Thinking(r.Thinking)); err != nil {
		o.errs = append(o.errs, fault.From(err).At("role "+r.Name+", thinking"))
	}
}

// opener opens each model once.
type opener struct {
	config provider.Config
	opened map[string]model.Provider
	errs   []*fault.Error
}

func (o *opener) open(spec, from string) model.Provider {
	if p, ok := o.opened[spec]; ok || spec == "" {
		return p
	}
	p, err := o.config.Open(spec)
	if err != nil {
		first := fault.From(err)
		for _, e := range append([]*fault.Error{first}, first.More...) {
			one := *e
			one.More = nil
			if one.Where == "" { // a policy file names its own lines
				one.Where = from
			}
			o.errs = append(o.errs, &one)
		}
	}
	o.opened[spec] = p
	return p
}
