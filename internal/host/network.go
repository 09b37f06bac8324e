package host

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"

	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/store/datadir"
)

// addresses are where a host listens, and the certificate that it shows there.
type addresses struct {
	config Config
	shown  *certificate.Server // nil if there is none
}

// openAddresses reads the certificate that the host shows: the one that was named, else
// the one of the data directory, if there is one.
func openAddresses(c Config, dir *datadir.Dir) (addresses, error) {
	file, key := c.Certificate, c.Key
	if file == "" && key == "" {
		file, key = dir.Path(datadir.TLSName, certificate.ServerFile), dir.Path(datadir.TLSName, certificate.KeyFile)
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) || certificate.Loopback(c.Listen) && certificate.Loopback(c.HTTP) {
			return addresses{config: c}, nil // there is none, or none is needed
		}
	}
	shown, err := certificate.Open(file, key)
	return addresses{config: c, shown: shown}, err
}

// tls returns the certificate to show at an address; nil is none. On
// loopback there is one only if that was asked for.
func (a *addresses) tls(address string) *certificate.Server {
	if certificate.Loopback(address) && a.config.Certificate == "" {
		return nil
	}
	return a.shown
}

func (a *addresses) webTLS() *tls.Config {
	if s := a.tls(a.config.HTTP); s != nil {
		return s.Config()
	}
	return nil
}

// webHosts are the names by which clients may ask for HTTP: those that were
// named, and of a port that is open to the network those of the certificate;
// without one, those of this machine.
func (a *addresses) webHosts() []string {
	list := slices.Clone(a.config.HTTPHosts)
	switch s := a.tls(a.config.HTTP); {
	case s != nil:
		return append(list, s.Names()...)
	case certificate.Loopback(a.config.HTTP):
		return list
	}
	if name, err := os.Hostname(); err == nil {
		list = append(list, name)
	}
	own, _ := net.InterfaceAddrs()
	for _, at := range own {
		if network, ok := at.(*net.IPNet); ok {
			list = append(list, network.IP.String())
		}
	}
	return list
}

// open lists the addresses that the network can reach, and whether
// each has TLS.
func (a *addresses) open() map[string]bool {
	open := map[string]bool{}
	for _, address := range []string{a.config.Listen, a.config.HTTP} {
		if address != "" && !certificate.Loopback(address) {
			open[address] = a.tls(address) != nil
		}
	}
	return open
}

// Open lists the addresses of this host that the network can reach, and whether each has
// TLS.
func (h *Host) Open() map[string]bool { return h.addresses.open() }
