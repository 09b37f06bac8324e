// Package deps pins modules until their first user is written.
package deps

import (
	_ "cel.dev/cel-go/cel"
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/asynkron/protoactor-go/actor"
	_ "github.com/aymanbagabas/go-udiff"
	_ "github.com/bmatcuk/doublestar/v4"
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats.go/jetstream"
	_ "github.com/nats-io/nats.go/micro"
	_ "github.com/nats-io/nkeys"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/sashabaranov/go-openai"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "golang.org/x/text/language"
	_ "google.golang.org/protobuf/testing/protocmp"
	_ "gopkg.in/yaml.v3"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
