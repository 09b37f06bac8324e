package client

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/endpoint"
)

var update = flag.Bool("update", false, "write the methods of services anew")

// A method stands for each service that the contract declares, with its messages.
func TestMSG01_TheClientIsWhatTheContractDeclares(t *testing.T) {
	const file = "services.go"
	var b bytes.Buffer
	b.WriteString(`// Code generated from loom.v1.HostService by "go test ./internal/net/client -update". DO NOT EDIT.

package client

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Services asks the services of a host, a method each. A method returns once the host
// has answered; what it changes is durable then. Where the host refuses, the error is
// its own, and the answer is not nil. Without a deadline of the caller's a service has
// 10 seconds, and 100 where it may read a journal from its beginning.
type Services struct{ host asker }
`)
	for _, e := range endpoint.All() {
		name := strings.ToUpper(e.Name[:1]) + e.Name[1:]
		request, reply := e.Request.ProtoReflect().Descriptor().Name(), e.Reply.ProtoReflect().Descriptor().Name()
		if _, ok := e.Reply.(answer); !ok {
			t.Errorf("the answer of %s has no field error: who asks would not hear of one", e.Name)
		}
		says := "what it has, as a View"
		if _, of, ok := strings.Cut(e.Answers, ": "); ok {
			says = strings.TrimSuffix(strings.Join(strings.Fields(of), " "), ".")
		}
		fmt.Fprintf(&b, "\n// %s asks the service %[5]s; the answer: %[2]s.\nfunc (s Services) %[1]s(ctx context.Context, q *loomv1.%[3]s) (*loomv1.%[4]s, error) {\n\treturn ask(ctx, s.host, %[5]q, q, &loomv1.%[4]s{})\n}\n",
			name, says, request, reply, e.Name)
	}
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what loom.proto declares; go test ./internal/net/client -update (-want +got):\n%s", file, diff)
	}
}
