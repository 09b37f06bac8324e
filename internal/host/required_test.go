package host

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/endpoint"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A body that has all fields which the description requires is taken, and without one of
// them it is refused, where that is not due to the project's state.
func TestAPI01_RequiredFieldsAreRequired(t *testing.T) {
	d, secret := site(t, "shop")
	post := func(path string, body any) (int, string) {
		text, _ := json.Marshal(body) // maps of strings
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.host.Load().HTTP()+"/api/v1/"+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		said, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(said)
	}
	type fields = map[string]any
	sound := map[string][]fields{ // by path, in the order in which they are sent
		"submissions": {{"goal": "Say in the README how the tests are run"}},
		"reports":     {{"service": "storefront", "message": "The total is wrong"}},
		"updates": {
			{"update": fields{"bead": fields{"id": "shop-1", "goal": "Say how the tests are run"}, "fields": []string{"goal"}}},
		},
		"messages": {{"id": "shop-1-x1", "text": "Mind the README.", "request": "r1"}},
		"forks":    {{"execution": "shop-1-x1", "node": "brief", "request": "f1"}},
	}
	described := map[string]protoreflect.MessageDescriptor{}
	for _, e := range endpoint.All() {
		for _, r := range e.Routes {
			if r.Post {
				described[r.Path] = e.Request.ProtoReflect().Descriptor()
			}
		}
	}
	for _, path := range []string{"submissions", "reports", "updates", "messages", "forks"} {
		for _, body := range sound[path] {
			if status, said := post(path, body); status != http.StatusOK {
				t.Fatalf("%s %v: %d %s, want 200", path, body, status, said)
			}
			for _, without := range lessOne(described[path], body) {
				if status, said := post(path, without); status < 400 || status >= 500 || !strings.Contains(said, `"code"`) {
					t.Errorf("%s %v: %d %s, want a refusal", path, without, status, said)
				}
			}
		}
	}
	if n := len(lessOne(described["updates"], sound["updates"][0])); n != 2 {
		t.Errorf("an update has %d required fields, want its bead and the fields", n)
	}
}

// lessOne are copies of a body, each without one of its required fields, also of those in
// it.
func lessOne(m protoreflect.MessageDescriptor, body map[string]any) (list []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		f := m.Fields().ByName(protoreflect.Name(name))
		if rule, _ := proto.GetExtension(f.Options(), loomv1.E_Takes).(*loomv1.FieldRule); rule.GetRequired() {
			less := maps.Clone(body)
			delete(less, name)
			list = append(list, less)
		}
		inner, _ := body[name].(map[string]any)
		if inner == nil || f.Message() == nil {
			continue
		}
		for _, one := range lessOne(f.Message(), inner) {
			less := maps.Clone(body)
			less[name] = one
			list = append(list, less)
		}
	}
	return list
}
