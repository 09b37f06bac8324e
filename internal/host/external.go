package host

import (
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
)

// External is what a host needs to run on NATS servers that somebody else runs.
type External = broker.External

// ReadExternal reads the credentials of a host on other servers, see
// [broker.ReadExternal].
func ReadExternal(path string) (*External, error) { return broker.ReadExternal(path) }

// NewExternal makes the credentials of so many hosts on other servers, see
// [broker.NewExternal].
func NewExternal(of External, hosts int) ([]External, error) { return broker.NewExternal(of, hosts) }

// ExternalConfiguration returns what other servers must include, see
// [broker.Configuration].
func ExternalConfiguration(hosts []External, identities []identity.User) (string, error) {
	return broker.Configuration(hosts, identities)
}
