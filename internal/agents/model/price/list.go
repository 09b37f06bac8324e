package price

import (
	"math"
	"os"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// Quote is the price of a model, and where it is from.
type Quote struct {
	Rate
	// From says so in words, for people.
	From string
}

// List says what models cost. The zero value knows the built-in table alone.
type List struct {
	rows  map[string]Quote // by PROVIDER:MODEL, over the built-in table
	other *Quote           // of a model that has no price otherwise
}

// Of returns what a model costs, and false where that is not known.
func (l List) Of(provider, model string) (Quote, bool) {
	if q, ok := l.rows[provider+":"+model]; ok {
		return q, true
	}
	if q, ok := builtin(provider, model); ok {
		return q, true
	}
	if l.other != nil {
		return *l.other, true
	}
	return Quote{}, false
}

func builtin(provider, model string) (Quote, bool) {
	r, ok := Of(provider, model)
	return Quote{r, "list price of " + AsOf}, ok
}

// Like returns the built-in table, where every model that is not in it costs as
// much as the one that spec, PROVIDER:MODEL, names.
//
// Errors: price/unknown.
func Like(spec string) (List, error) {
	q, err := as(spec)
	return List{other: &q}, err
}

// as returns the list price of the model that spec names, as that of another.
func as(spec string) (Quote, error) {
	provider, model, _ := strings.Cut(spec, ":")
	q, ok := builtin(provider, model)
	if !ok {
		return q, fault.New("price/unknown", "the table of list prices has no such model").Got(spec).
			Want("PROVIDER:MODEL as in anthropic:claude-sonnet-4-5, or a file of prices")
	}
	q.From += " of " + spec
	return q, nil
}

// maxFile is the size of the largest file of prices that is read, in bytes.
const maxFile = 64 << 10

// Read reads a file as [Parse] does.
//
// Errors: price/file, and those of Parse.
func Read(file string) (List, error) {
	info, err := os.Stat(file)
	if err != nil {
		return List{}, fault.New("price/file", "the prices cannot be read").At(file).Because(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return List{}, fault.New("price/file", "prices stand in a file of at most %d bytes", maxFile).At(file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return List{}, fault.New("price/file", "the prices cannot be read").At(file).Because(err)
	}
	return Parse(file, data)
}

// row is the price of a model in a file, in dollars for a million tokens.
type row struct {
	// Like is the model whose list price holds, in the place of numbers.
	Like   string   `yaml:"like"`
	Input  *float64 `yaml:"input"`
	Output *float64 `yaml:"output"`
	// CacheWrite and CacheRead are those of the cache; without them its tokens
	// cost what others of the prompt do.
	CacheWrite *float64 `yaml:"cache_write"`
	CacheRead  *float64 `yaml:"cache_read"`
}

// Parse reads prices from YAML, in dollars for a million tokens:
//
//	prices:
//	  "anthropic:team-large": {input: 3, cache_write: 3.75, cache_read: 0.3, output: 15}
//	  "openai:team-small": {like: "openai:gpt-5-mini"}
//
// They go over the built-in table. All that is wrong is reported at once, with
// FILE:LINE:COL.
func Parse(file string, data []byte) (List, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return List{}, err
	}
	var read struct {
		Prices map[string]row `yaml:"prices" loom:"required"`
	}
	doc.Decode(&read)
	l := List{rows: map[string]Quote{}}
	for spec, r := range read.Prices {
		if doc.Broken("prices", spec) {
			continue
		}
		if provider, model, ok := strings.Cut(spec, ":"); !ok || table[provider] == nil || model == "" {
			doc.AddAtKey(fault.New("price/unknown", "not the name of a model").Got(spec).Want("anthropic:MODEL, google:MODEL or openai:MODEL"), "prices", spec)
			continue
		}
		l.rows[spec] = r.quote(file, func(err *fault.Error) { doc.Add(err, "prices", spec) })
	}
	return l, doc.Err()
}

// quote returns the price that a row says, and hands what is wrong with it to bad.
func (r row) quote(file string, bad func(*fault.Error)) Quote {
	numbers := r.Input != nil || r.Output != nil || r.CacheWrite != nil || r.CacheRead != nil
	switch {
	case r.Like != "" && numbers:
		bad(fault.New("price/value", "a price is either numbers or like another model's, and this is both"))
	case r.Like != "":
		q, err := as(r.Like)
		if err != nil {
			bad(fault.From(err))
		}
		q.From += ", as " + file + " says"
		return q
	case r.Input == nil || r.Output == nil:
		bad(fault.New("price/value", "a price has an input and an output, in dollars for a million tokens").Want("{input: 3, output: 15}, or {like: \"anthropic:claude-sonnet-4-5\"}"))
	default:
		rate := Rate{Input: units(*r.Input, bad), Output: units(*r.Output, bad)}
		rate.CacheWrite, rate.CacheRead = rate.Input, rate.Input
		if r.CacheWrite != nil {
			rate.CacheWrite = units(*r.CacheWrite, bad)
		}
		if r.CacheRead != nil {
			rate.CacheRead = units(*r.CacheRead, bad)
		}
		return Quote{rate, file}
	}
	return Quote{}
}

// maxPrice is the dearest that a million tokens may be, in dollars.
const maxPrice = 10_000

// units returns dollars for a million tokens as micro-dollars.
func units(dollars float64, bad func(*fault.Error)) uint64 {
	if !(dollars >= 0 && dollars <= maxPrice) { // also no number at all
		bad(fault.New("price/value", "not a price: %v", dollars).Want("0 to %d dollars for a million tokens", maxPrice))
		return 0
	}
	return uint64(math.Round(dollars * dollar))
}

// Known lists the models that the built-in table has, as PROVIDER:MODEL, sorted.
func Known() []string {
	var all []string
	for provider, models := range table {
		for name := range models {
			all = append(all, provider+":"+name)
		}
	}
	slices.Sort(all)
	return all
}
