// Package endpoint reads what the contract says of each service of a host, where the
// service is declared: who may ask, which projects a request is about, and where else
// than on NATS it is offered. The options stand in loom.v1.HostService, and are
// described in proto/loom/v1/endpoint.proto.
//
// It promises one [Endpoint] for each service, made once and never changed. It serves
// and decides nothing.
package endpoint

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Scopes as tokens and documents write them.
const (
	Read    = "read"    // all views, metrics and notices
	Submit  = "submit"  // submissions and error reports
	Operate = "operate" // changes of beads, forks; approving is no scope
	Audit   = "audit"   // notices: the record, and nothing else
)

var words = map[loomv1.Scope]string{
	loomv1.Scope_SCOPE_READ:    Read,
	loomv1.Scope_SCOPE_SUBMIT:  Submit,
	loomv1.Scope_SCOPE_OPERATE: Operate,
	loomv1.Scope_SCOPE_AUDIT:   Audit,
}

// Endpoint is what the contract says of a service.
type Endpoint struct {
	// Name on the wire: loom.v1.svc.NAME.
	Name string
	// Scopes of which a caller needs one.
	Scopes []string
	// Request and Reply are empty messages of what it takes and gives. Nobody may
	// change them.
	Request, Reply proto.Message
	// Publishers may ask, who may otherwise only submit.
	Publishers bool
	// OfAll says that a request without a project is about all of them.
	OfAll bool
	// Slow says that it may read a journal from its beginning.
	Slow bool
	// Answers is what the answer says.
	Answers string
	// Routes of HTTP.
	Routes []Route
	// Verbs of the Model Context Protocol.
	Verbs []Verb

	about []protoreflect.FieldDescriptor
}

// Route is a way to ask a service over HTTP.
type Route struct {
	Post    bool
	Path    string // below /api/v1/
	Summary string
	ID      string   // the field that {id} in the path fills, or empty
	Params  []string // the fields that the query may fill
	With    string   // a query that fills fields in advance
	Body    string   // the field of the answer that is the whole body, or empty
	Media   string   // the field of the answer that says what kind of document the body is, or empty
	Page    bool     // a browser may show the body
}

// CheckScopes refuses, as usage/argument, scopes that something cannot have, and none.
func CheckScopes(what string, scopes, allowed []string) error {
	if len(scopes) == 0 {
		return fault.New("usage/argument", "a %s needs a scope", what).At("scope").Want("one of %s", strings.Join(allowed, ", "))
	}
	for _, s := range scopes {
		if !slices.Contains(allowed, s) {
			return fault.New("usage/argument", "no such scope; no scope can approve").At("scope").Got(s).Want("%s", suggest.Among(s, allowed))
		}
	}
	return nil
}

// Verb is a way to ask a service over the Model Context Protocol.
type Verb struct {
	Name, Title, Description string
	Within                   string // the member of a oneof that the arguments fill, or empty
	Fields, Required         []string
	Changes, Destroys        bool
	Idempotent               bool
}

// all are the services in the order of the contract.
var all = lazy.Value(described)

func described() []*Endpoint {
	methods := loomv1.File_loom_v1_loom_proto.Services().ByName("HostService").Methods()
	list := make([]*Endpoint, methods.Len())
	for i := range list {
		list[i] = describe(methods.Get(i))
	}
	return list
}

func describe(m protoreflect.MethodDescriptor) *Endpoint {
	said, _ := proto.GetExtension(m.Options(), loomv1.E_Endpoint).(*loomv1.Endpoint)
	e := &Endpoint{
		Name: strings.ToLower(string(m.Name())), Request: sample(m.Input()), Reply: sample(m.Output()),
		Publishers: said.GetPublishers(), Slow: said.GetSlow(), OfAll: said.GetAll(), Answers: said.GetAnswers(),
	}
	for _, s := range said.GetScopes() {
		e.Scopes = append(e.Scopes, words[s])
	}
	for _, name := range strings.Fields(said.GetAbout()) {
		e.about = append(e.about, m.Input().Fields().ByName(protoreflect.Name(name)))
	}
	for _, r := range said.GetRoutes() {
		e.Routes = append(e.Routes, Route{
			Post: r.GetPost() != "", Path: r.GetPost() + r.GetGet(), Summary: r.GetSummary(), ID: r.GetId(),
			Params: strings.Fields(r.GetParams()), With: r.GetWith(), Body: r.GetBody(), Media: r.GetMedia(), Page: r.GetPage(),
		})
	}
	for _, v := range said.GetVerbs() {
		e.Verbs = append(e.Verbs, Verb{
			Name: v.GetName(), Title: v.GetTitle(), Description: v.GetDescription(), Within: v.GetWithin(),
			Fields: strings.Fields(v.GetFields()), Required: strings.Fields(v.GetRequired()),
			Changes: v.GetChanges(), Destroys: v.GetDestroys(), Idempotent: v.GetIdempotent(),
		})
	}
	return e
}

func sample(m protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName())
	if err != nil {
		panic(err) // the package that declares the service declares it
	}
	return t.Zero().Interface()
}

// All returns every service there is, in the order of the contract. Nobody may
// change the list.
func All() []*Endpoint { return all() }

// Of returns the service with a name, or nil.
func Of(name string) *Endpoint {
	if i := slices.IndexFunc(all(), func(e *Endpoint) bool { return e.Name == name }); i >= 0 {
		return all()[i]
	}
	return nil
}

// Needs reports whether a caller with a scope may ask.
func (e *Endpoint) Needs(scope string) bool { return slices.Contains(e.Scopes, scope) }

// Narrow reports whether it can be said which projects a request is about: only then
// may it be asked by who is narrowed to some.
func (e *Endpoint) Narrow() bool { return len(e.about) > 0 }

// About returns what a request says of projects: those that it names, and the ids in
// it that have one.
func (e *Endpoint) About(request proto.Message) (projects, ids []string) {
	m := request.ProtoReflect()
	for _, f := range e.about {
		switch text := m.Get(f).String(); {
		case text == "":
		case f.Name() == "project":
			projects = append(projects, text)
		default:
			ids = append(ids, text)
		}
	}
	return projects, ids
}

// Complete refuses a set of services that is not what the contract declares: one that
// nobody answers, one that it does not know, one without a scope.
func Complete(served []string) error {
	for _, e := range all() {
		if len(e.Scopes) == 0 || slices.Contains(e.Scopes, "") {
			return fault.New("internal/error", "service %q has no scope in loom.proto", e.Name)
		}
		if !slices.Contains(served, e.Name) {
			return fault.New("internal/error", "service %q is declared in loom.proto, and nobody answers it", e.Name)
		}
	}
	for _, name := range served {
		if Of(name) == nil {
			return fault.New("internal/error", "service %q is answered, and not declared in loom.proto", name)
		}
	}
	return nil
}
