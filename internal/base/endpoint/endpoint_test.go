package endpoint_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/docs"
)

// update says whether to write instead of checking.
var update = flag.Bool("update", false, "write the generated part of docs/subjects.md")

func ExampleOf() {
	e := endpoint.Of("history")
	fmt.Println(e.Name, e.Scopes, e.Narrow())
	fmt.Println(e.Routes[0].Path, e.Verbs[0].Name)
	projects, ids := e.About(&loomv1.HistoryRequest{Execution: "shop-1-x1"})
	fmt.Println(projects, ids)
	// Output:
	// history [read] true
	// executions/{id}/history history
	// [] [shop-1-x1]
}

// Every option names fields that are there: a misspelt one would be a right that
// nobody checks, or a parameter that nobody can give.
func TestSUB01_EveryOptionNamesFieldsThatAreThere(t *testing.T) {
	routes, verbs := map[string]bool{}, map[string]bool{}
	for _, e := range endpoint.All() {
		options := method(e).Options()
		said, _ := proto.GetExtension(options, loomv1.E_Endpoint).(*loomv1.Endpoint)
		fields := e.Request.ProtoReflect().Descriptor().Fields()
		have := func(what string, in protoreflect.FieldDescriptors, names ...string) {
			for _, n := range names {
				if in.ByName(protoreflect.Name(n)) == nil {
					t.Errorf("%s: %s names %q, which is no field", e.Name, what, n)
				}
			}
		}
		have("about", fields, strings.Fields(said.GetAbout())...)
		for _, f := range strings.Fields(said.GetAbout()) {
			if d := fields.ByName(protoreflect.Name(f)); d != nil && d.Kind() != protoreflect.StringKind {
				t.Errorf("%s: about names %q, which is no text", e.Name, f)
			}
		}
		if e.Answers == "" || len(e.Scopes) == 0 {
			t.Errorf("%s has no scope, or nothing is said of its answer", e.Name)
		}
		for _, r := range e.Routes {
			key := fmt.Sprint(r.Post, r.Path)
			if routes[key] || r.Summary == "" || (r.ID != "") != strings.Contains(r.Path, "{id}") {
				t.Errorf("%s: route %+v is there twice, says nothing or has no id", e.Name, r)
			}
			routes[key] = true
			have(r.Path, fields, r.Params...)
			if r.ID != "" {
				have(r.Path, fields, r.ID)
			}
		}
		for _, v := range e.Verbs {
			if verbs[v.Name] || v.Title == "" || v.Description == "" {
				t.Errorf("%s: verb %q is there twice, or says nothing", e.Name, v.Name)
			}
			verbs[v.Name] = true
			in := fields
			if v.Within != "" {
				have(v.Name, fields, v.Within)
				in = fields.ByName(protoreflect.Name(v.Within)).Message().Fields()
			}
			have(v.Name, in, v.Fields...)
			for _, r := range v.Required {
				if !slices.Contains(v.Fields, r) {
					t.Errorf("%s: %q must be given, and cannot be", v.Name, r)
				}
			}
			if v.Changes == e.Needs(endpoint.Read) {
				t.Errorf("%s changes something: %t, and its service takes %v", v.Name, v.Changes, e.Scopes)
			}
		}
	}
}

func method(e *endpoint.Endpoint) protoreflect.MethodDescriptor {
	methods := loomv1.File_loom_v1_loom_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		if strings.EqualFold(string(methods.Get(i).Name()), e.Name) {
			return methods.Get(i)
		}
	}
	return nil
}

// Complete refuses what is declared and not served, and the other way round.
func TestSEC01_AHostServesWhatIsDeclared(t *testing.T) {
	var every []string
	for _, e := range endpoint.All() {
		every = append(every, e.Name)
	}
	for _, tt := range []struct {
		served []string
		says   string
	}{
		{every, ""},
		{every[1:], `service "project" is declared in loom.proto, and nobody answers it`},
		{append(slices.Clone(every), "role"), `service "role" is answered, and not declared in loom.proto`},
	} {
		err := endpoint.Complete(tt.served)
		if got := said(err); got != tt.says {
			t.Errorf("Complete: %q, want %q", got, tt.says)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Message
}

// The table of services in docs/subjects.md is made of the contract.
func TestSUB01_TheServicesAreWrittenDown(t *testing.T) {
	var b strings.Builder
	b.WriteString("| request | body | answer | scope | narrowed |\n|---|---|---|---|---|\n")
	for _, e := range endpoint.All() {
		narrow := ""
		if e.Narrow() {
			narrow = "yes"
		}
		scopes := "`" + strings.Join(e.Scopes, "`, `") + "`"
		if e.Publishers {
			scopes += ", publishers"
		}
		fmt.Fprintf(&b, "| `loom.v1.svc.%s` | `%s` | %s | %s | %s |\n", e.Name, e.Request.ProtoReflect().Descriptor().Name(), e.Answers, scopes, narrow)
	}
	docs.Part(t, "../../../docs/subjects.md", "services", b.String(), *update)
}
