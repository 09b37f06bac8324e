package broker

import (
	"context"

	"github.com/nats-io/nats-server/v2/server"
)

// Version is that of the NATS server that is embedded.
const Version = server.VERSION

// Free returns host/port, naming the process that has it where that can be
// seen, when a TCP address cannot be listened on.
func Free(ctx context.Context, address string) error {
	return Config{Listen: address}.checkListen(ctx)
}
