package broker

import (
	"net"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
)

// checkNetwork returns host/insecure for a port that would be open to a network
// without TLS.
func (c Config) checkNetwork() error {
	if c.Listen != "" {
		if _, _, err := c.address(); err != nil {
			return err // what is no address is refused as such
		}
	}
	if c.Listen == "" || c.TLS != nil || certificate.Loopback(c.Listen) {
		return nil
	}
	if c.Insecure {
		c.Logger.Warn("THE PORT FOR CLIENTS IS OPEN TO THE NETWORK WITHOUT TLS: everything that is said there can be read and changed on its way", "address", c.Listen)
		return nil
	}
	return fault.New("host/insecure", "the port would be open to the network without TLS").At("--listen").Got(c.Listen).
		Want("make a certificate with \"loom auth tls init --host NAME\", or give --tls-cert and --tls-key")
}

// reachable returns how this machine's own clients reach an address that a host
// listens on.
func reachable(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	host, port, err := net.SplitHostPort(rest)
	if !ok || err != nil {
		return url
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil {
			host = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
