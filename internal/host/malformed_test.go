package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/proto/subject"
)

// spoilt are values of parameters that are malformed, name nothing or are out of bounds.
var spoilt = []string{"", "zzz", "nowhere-99", "shop-99-x1", "-1", "1.2", "99999999999999999999", "a/b", "*.>", "\xff", "\x00", strings.Repeat("x", 3000)}

// bodies are malformed bodies of a request, in JSON.
func bodies(request proto.Message) [][]byte {
	list := [][]byte{nil, []byte("{"), []byte("{}"), []byte("[]"), []byte("null"), []byte(`"x"`), []byte("\xff\xfe"), []byte(`{"zzz":1}`), []byte(strings.Repeat(`{"a":`, 2000))}
	fields := request.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := fields.Get(i).TextName()
		for _, value := range []string{"true", "-1", "1.5", `"zzz"`, `"\ud800"`, "\"\xff\"", `"\u0000"`, "[]", "[1]", "{}", `{"zzz":1}`, "null"} {
			list = append(list, fmt.Appendf(nil, "{%q:%s}", name, value))
		}
	}
	return list
}

// Whatever a route is asked, it answers with a reason that is the asker's, not Loom's.
func TestSUB03_NoRouteIsBrokenByInput(t *testing.T) {
	d, _ := site(t, "shop")
	var secrets []string
	for i := range 100 { // each may ask so often in a second
		_, secret, err := token.Create(d.config.Data, fmt.Sprintf("reader%d", i), token.Scopes(), 0, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
	}
	asked := 0
	ask := func(method, path string, body []byte) (int, string) {
		for {
			r, err := http.NewRequestWithContext(t.Context(), method, d.host.Load().HTTP()+path, bytes.NewReader(body))
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			r.Header.Set("Authorization", "Bearer "+secrets[asked%len(secrets)])
			r.Header.Set("Content-Type", "application/json")
			asked++
			reply, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if reply.StatusCode == http.StatusOK {
				reply.Body.Close() // it may be a stream
				return reply.StatusCode, ""
			}
			text, err := io.ReadAll(reply.Body)
			reply.Body.Close()
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if reply.StatusCode != http.StatusTooManyRequests {
				return reply.StatusCode, string(text)
			}
		}
	}
	check := func(method, path string, body []byte) {
		status, text := ask(method, path, body)
		var problem struct{ Code, Message string }
		if status != http.StatusOK && (json.Unmarshal([]byte(text), &problem) != nil || problem.Code == "" || problem.Message == "") {
			t.Errorf("%s %.200q %.100q: %d %s: no problem that is named", method, path, body, status, text)
		}
		if status >= http.StatusInternalServerError || strings.HasPrefix(problem.Code, "internal/") {
			t.Errorf("%s %.200q %.100q: %d %s", method, path, body, status, text)
		}
	}
	for _, e := range endpoint.All() {
		for _, r := range e.Routes {
			path := "/api/v1/" + strings.ReplaceAll(r.Path, "{id}", "shop-1")
			if r.Post {
				for _, b := range bodies(e.Request) {
					check(http.MethodPost, path, b)
				}
				check(http.MethodPost, path+"?zzz=1", []byte("{}"))
				continue
			}
			check(http.MethodGet, path+"?zzz=1", nil)
			for _, v := range spoilt {
				if r.ID != "" && v != "" {
					check(http.MethodGet, "/api/v1/"+strings.ReplaceAll(r.Path, "{id}", url.PathEscape(v)), nil)
				}
				for _, p := range r.Params {
					check(http.MethodGet, path+"?"+p+"="+url.QueryEscape(v), nil)
				}
			}
		}
	}
	check(http.MethodGet, "/api/v1/notices?bead=zzz", nil)
	if status, text := ask(http.MethodGet, "/api/v1/notices?bead=zzz", nil); status != http.StatusBadRequest || !strings.Contains(text, `"where":"bead"`) {
		t.Errorf("notices of a bead that cannot be: %d %s", status, text)
	}
	t.Log(asked, "requests")
}

// Nor does a service of NATS, for bytes that are no request of it.
func TestSUB03_NoServiceIsBrokenByBytes(t *testing.T) {
	d := newDeployment(t, "shop")
	d.host.Load().Stop(t.Context())
	d.config.Listen = "127.0.0.1:0"
	d.start()
	operator, err := broker.Dial(d.config.Data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(operator.Close)
	for _, e := range endpoint.All() {
		raw := [][]byte{{0xff}, {0x0a}, {0x0a, 0x7f}, []byte("text"), bytes.Repeat([]byte{0x0b}, 20000)}
		fields := e.Request.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if f := fields.Get(i); f.Kind() == protoreflect.StringKind && f.Number() < 16 { // a text that is none
				raw = append(raw, []byte{byte(f.Number())<<3 | 2, 2, 'a', 0xff})
			}
		}
		for _, kind := range []string{"", "application/json", "text/plain"} {
			tries := raw
			if kind == "application/json" {
				tries = bodies(e.Request)
			}
			for _, data := range tries {
				msg := &nats.Msg{Subject: subject.Service(subject.Must(e.Name)), Data: data, Header: nats.Header{}}
				if kind != "" {
					msg.Header.Set("Content-Type", kind)
				}
				answer, err := operator.RequestMsg(msg, 20*time.Second)
				if err != nil {
					t.Fatalf("%s: %v to %.100q as %q", e.Name, err, data, kind)
				}
				if bytes.Contains(answer.Data, []byte("internal/error")) || bytes.Contains(answer.Data, []byte("host/silent")) {
					t.Errorf("%s: %q to %.100q as %q", e.Name, answer.Data, data, kind)
				}
			}
		}
	}
	if !slices.ContainsFunc(endpoint.All(), func(e *endpoint.Endpoint) bool { return e.Name == "submit" }) {
		t.Error("no service was asked")
	}
}
