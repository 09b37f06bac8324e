// Package provider opens language models by name. It reads the keys and
// addresses that such services are commonly configured with, and never prints
// them.
package provider

import (
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/anthropic"
	"github.com/loomrun/loom/internal/agents/model/google"
	"github.com/loomrun/loom/internal/agents/model/openai"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/model/window"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
)

// Config says how providers are opened. The zero value works, with nothing in
// the environment.
type Config struct {
	// Env looks up environment variables: ANTHROPIC_API_KEY,
	// ANTHROPIC_BASE_URL, GOOGLE_API_KEY, GOOGLE_BASE_URL, OPENAI_API_KEY,
	// OPENAI_BASE_URL, and
	// LOOM_CONTEXT_WINDOW, the tokens that models take which Loom does not
	// know. Nil finds none.
	Env func(string) string

	// Limits bound each request; its zero value is the default.
	Limits wire.Limits

	// Prices say what models cost, at whatever address they are asked. The zero
	// value has the list prices.
	Prices price.List

	// CacheMarks says who is sent marks of what a server is to keep.
	CacheMarks Marks

	// Gates keep all models that are opened with them under the rate limits of
	// the keys that they share. Nil means that each keeps its own.
	Gates *wire.Gates

	// Client sends the requests. Nil means one of its own.
	Client *http.Client
}

// Marks says who is sent marks of what a server is to keep.
type Marks int

const (
	// MarksWhereKnown sends them to any server of Anthropic's protocol, and for a
	// Claude to any server of OpenAI's but OpenAI itself.
	MarksWhereKnown Marks = iota
	// MarksAlways sends them for every model of these protocols, also where its name
	// does not tell what it is. OpenAI itself is sent none.
	MarksAlways
	// MarksNever is for a server that refuses them.
	MarksNever
)

// sentTo reports whether the server is sent marks.
func (m Marks) sentTo(s wire.Server) bool {
	switch {
	case m == MarksNever || s.Provider == "google" || s.Provider == "openai" && s.Official:
		return false
	case m == MarksAlways || s.Provider == "anthropic":
		return true
	}
	return window.Claude(s.Model)
}

// Open opens a model by "replay:FILE", "scripted", "scripted:NAME", "scripted:FILE",
// "anthropic:MODEL", "google:MODEL" or "openai:MODEL" with the keys in env. The last speaks to
// any server of that protocol that OPENAI_BASE_URL names. With commas between
// them, each is asked when those before it do not answer. It contacts nobody.
//
// Errors: model/unknown, with what there is; model/no-key, with the variable
// to set.
func Open(spec string, env func(string) string) (model.Provider, error) {
	return Config{Env: env}.Open(spec)
}

// Open is [Open] with limits, gates and a client. Several specs with commas
// between them are a [model.Chain]; all that is wrong with them is reported.
func (c Config) Open(spec string) (model.Provider, error) {
	var chain []model.Provider
	var errs []*fault.Error
	for one := range strings.SplitSeq(spec, ",") {
		p, err := c.one(strings.TrimSpace(one))
		if err != nil {
			errs = append(errs, fault.From(err))
		}
		chain = append(chain, p)
	}
	if len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return model.Chain(chain[0], chain[1:]...), nil
}

func (c Config) one(spec string) (model.Provider, error) {
	kind, name, _ := strings.Cut(spec, ":")
	switch kind {
	case "scripted":
		return openScript(name)
	case "replay":
		return c.replay(name)
	}
	s, err := c.server(spec)
	if err != nil {
		return nil, err
	}
	return keyed(s, protocols[kind].prefix+"_API_KEY", protocols[kind].open)
}

func unknown(spec string) *fault.Error {
	return fault.New("model/unknown", "no such model").Got(spec).Want(
		"there is anthropic:MODEL, google:MODEL, openai:MODEL (any server of that protocol, by OPENAI_BASE_URL), replay:FILE, scripted:FILE.yaml and scripted:%s",
		strings.Join(scripted.Names(), ", scripted:"))
}

// Keys are the variables that hold the keys of model providers.
var Keys = []string{"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"}

// replay opens a recording as a model. Secrets were taken out of it, so those
// of the environment are taken out of what is compared with it.
func (c Config) replay(file string) (model.Provider, error) {
	env := os.Environ()
	for _, name := range Keys {
		env = append(env, name+"="+c.env(name))
	}
	r, err := recording.Open(file, env)
	if err != nil {
		return nil, err
	}
	return r.Provider(), nil
}

// maxScript is the size of the largest policy file that is read.
const maxScript = 1 << 20

func openScript(name string) (model.Provider, error) {
	if name == "" {
		name = scripted.Default
	}
	if policy, ok := scripted.Named(name); ok {
		return scripted.New(name, policy), nil
	}
	if !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
		return nil, unknown("scripted:" + name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fault.New("model/unknown", "no such policy file").Got(name).Because(err)
	}
	if info.Size() > maxScript {
		return nil, fault.New("model/unknown", "policy file has %d bytes; at most %d are read", info.Size(), maxScript).At(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.New("model/unknown", "policy file cannot be read").Got(name).Because(err)
	}
	policy, err := scripted.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return scripted.New(name, policy), nil
}

// protocol is how models of a kind are reached.
type protocol struct {
	prefix string // of its variables
	origin string // the provider's own address
	open   func(wire.Server) model.Provider
}

// protocols are the kinds of models behind HTTP.
var protocols = map[string]protocol{
	"anthropic": {"ANTHROPIC", anthropic.Origin, anthropic.New},
	"google":    {"GOOGLE", google.Origin, google.New},
	"openai":    {"OPENAI", openai.Origin, openai.New},
}

// server says where a model behind HTTP is asked and what holds there.
func (c Config) server(spec string) (wire.Server, error) {
	kind, name, _ := strings.Cut(spec, ":")
	p, ok := protocols[kind]
	if !ok || !modelName(name) {
		return wire.Server{}, unknown(spec)
	}
	s := wire.Server{
		Spec: spec, Provider: kind, Model: name, Base: p.origin, Key: c.env(p.prefix + "_API_KEY"),
		Limits: c.Limits, Gates: c.Gates, Client: c.Client, Pictures: window.Pictures(kind, name),
	}
	if base := c.env(p.prefix + "_BASE_URL"); base != "" {
		s.Base = strings.TrimRight(base, "/")
	}
	if err := s.CheckBase(p.prefix + "_BASE_URL"); err != nil {
		return s, err
	}
	s.Official = s.Base == p.origin
	s.CacheMarks = c.CacheMarks.sentTo(s)
	if q, ok := c.Prices.Of(kind, name); ok {
		s.Price = &q
	}
	return s, c.window(&s)
}

func keyed(s wire.Server, variable string, open func(wire.Server) model.Provider) (model.Provider, error) {
	if s.Key == "" && !s.Loopback() {
		return nil, fault.New("model/no-key", "%s needs a key and %s is not set", s.Spec, variable).
			Want("set it, or use a server on this machine, or scripted:%s", scripted.Default)
	}
	for _, b := range []byte(s.Key) {
		if b <= ' ' || b >= 0x7f {
			return nil, fault.New("model/no-key", "%s holds a space, a line break or another byte that no key has", variable).
				Want("set it again")
		}
	}
	return open(s), nil
}

// windowVariable says how many tokens a model takes that is not in the table.
const windowVariable = "LOOM_CONTEXT_WINDOW"

func (c Config) window(s *wire.Server) error {
	s.Window = window.Of(s.Provider, s.Model)
	given := c.env(windowVariable)
	if given == "" || s.Official && s.Window != window.Unknown {
		return nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 8192 {
		return fault.New("usage/argument", "not a number of tokens").At(windowVariable).Got(given).Want("8192 or more")
	}
	s.Window = n
	return nil
}

func (c Config) env(name string) string {
	if c.Env == nil {
		return ""
	}
	return strings.TrimSpace(c.Env(name))
}

// modelName reports whether s can be a model's name: 1 to 128 printable bytes
// without a space.
func modelName(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
