package console

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/ops/config"
)

// ProviderTable says, in a configuration, how models behind HTTP are asked and
// what they cost: [provider] prices = "FILE or MODEL". It is no flag of a host's.
const ProviderTable = "provider"

// providerSetting is an entry of the table.
type providerSetting struct {
	kind  config.Kind
	Usual string // what holds where nothing is said
	want  string // what would be right
	set   func(c *provider.Config, value string) bool
}

const pricesKey = "prices"

// ProviderSettings are the entries of the table. That of prices checks and sets
// nothing: a file is read where the place that names it is known.
var ProviderSettings = map[string]providerSetting{
	pricesKey: {config.Text, "list prices of " + price.AsOf, "a file, or a model of the list as in anthropic:claude-sonnet-4-5", func(_ *provider.Config, v string) bool {
		return v != ""
	}},
	"cache-marks": {config.Switch, "anthropic:, and Claude behind openai:", "true or false", func(c *provider.Config, v string) bool {
		on, err := strconv.ParseBool(v)
		c.CacheMarks = provider.MarksNever
		if on {
			c.CacheMarks = provider.MarksAlways
		}
		return err == nil
	}},
	"tries": {config.Whole, strconv.Itoa(usualLimits.Tries), "1 to 20", func(c *provider.Config, v string) (ok bool) {
		n, err := strconv.Atoi(v)
		c.Limits.Tries = n
		return err == nil && n >= 1 && n <= 20
	}},
	"timeout":             bounded(func(l *wire.Limits) *time.Duration { return &l.Total }),
	"idle-timeout":        bounded(func(l *wire.Limits) *time.Duration { return &l.Idle }),
	"first-event-timeout": bounded(func(l *wire.Limits) *time.Duration { return &l.First }).or("the idle-timeout; on this machine the timeout"),
	"max-wait":            bounded(func(l *wire.Limits) *time.Duration { return &l.Patience }),
}

// usualLimits are those of a server elsewhere.
var usualLimits = wire.Limits{}.WithDefaults(false)

// bounded is a setting that is one of the durations of the limits.
func bounded(of func(*wire.Limits) *time.Duration) providerSetting {
	return providerSetting{config.Text, of(&usualLimits).String(), "1s to 24h, as in \"90s\"", func(c *provider.Config, v string) bool {
		d, err := time.ParseDuration(v)
		*of(&c.Limits) = d
		return err == nil && d >= time.Second && d <= 24*time.Hour
	}}
}

// or returns s with other words for what holds where nothing is said.
func (s providerSetting) or(usual string) providerSetting {
	s.Usual = usual
	return s
}

// providerKey describes the table.
func providerKey() config.Key {
	k := config.Key{Name: ProviderTable, Unflagged: true, Keyed: true, Kinds: map[string]config.Kind{}, Check: checkProvider}
	for name, s := range ProviderSettings {
		k.Kinds[name] = s.kind
	}
	return k
}

func checkProvider(entry string, values []string) error {
	s, ok := ProviderSettings[entry]
	if !ok {
		return fault.New("config/unknown-key", "nothing reads this key").Got(entry).
			Want("%s", suggest.Among(entry, slices.Sorted(maps.Keys(ProviderSettings))))
	}
	if !s.set(&provider.Config{}, values[0]) {
		return fault.New("config/value", "not a value of %q", ProviderTable+"."+entry).Got(config.Shown(values[0])).Want("%s", s.want)
	}
	return nil
}

// Providers returns how models behind HTTP are asked, as it is configured.
//
// Errors: those of the prices, with the place that names them.
func (a *Console) Providers() (provider.Config, error) {
	c := provider.Config{Env: a.Env}
	if a.Config == nil {
		return c, nil
	}
	for _, s := range a.Config.Get(ProviderTable) {
		if s.Entry != pricesKey {
			ProviderSettings[s.Entry].set(&c, s.Values[0]) // it was checked when it was read
			continue
		}
		var err error
		if c.Prices, err = prices(s); err != nil {
			e := *fault.From(err)
			if e.Where == "" {
				e.Where = s.Origin.String()
			}
			return c, &e
		}
	}
	return c, nil
}

// prices reads those that a setting names: a model, PROVIDER:MODEL, or a file,
// relative to the one that the setting stands in.
func prices(s config.Setting) (price.List, error) {
	value := s.Values[0]
	if strings.Contains(value, ":") {
		return price.Like(value)
	}
	if s.Origin.From == config.FromFile && !filepath.IsAbs(value) {
		value = filepath.Join(filepath.Dir(s.Origin.Name), value)
	}
	return price.Read(value)
}
