package host

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"

	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/store/datadir"
)

// openCertificate reads the certificate that the host shows: the one that was
// named, else the one of the data directory, if there is one.
func (h *Host) openCertificate(context.Context) error {
	c := h.config
	file, key := c.Certificate, c.Key
	if file == "" && key == "" {
		file, key = h.dir.Path(datadir.TLSName, certificate.ServerFile), h.dir.Path(datadir.TLSName, certificate.KeyFile)
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) || certificate.Loopback(c.Listen) && certificate.Loopback(c.HTTP) {
			return nil // there is none, or none is needed
		}
	}
	var err error
	h.shown, err = certificate.Open(file, key)
	return err
}

// tlsFor returns the certificate to show at an address; nil is none. On
// loopback there is one only if that was asked for.
func (h *Host) tlsFor(address string) *certificate.Server {
	if certificate.Loopback(address) && h.config.Certificate == "" {
		return nil
	}
	return h.shown
}

func (h *Host) webTLS() *tls.Config {
	if s := h.tlsFor(h.config.HTTP); s != nil {
		return s.Config()
	}
	return nil
}

// webHosts are the names by which clients may ask for HTTP: those that were
// named, and of a port that is open to the network those of the certificate;
// without one, those of this machine.
func (h *Host) webHosts() []string {
	list := slices.Clone(h.config.HTTPHosts)
	switch s := h.tlsFor(h.config.HTTP); {
	case s != nil:
		return append(list, s.Names()...)
	case certificate.Loopback(h.config.HTTP):
		return list
	}
	if name, err := os.Hostname(); err == nil {
		list = append(list, name)
	}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			list = append(list, network.IP.String())
		}
	}
	return list
}

// Open lists the addresses of this host that the network can reach, and whether
// each has TLS.
func (h *Host) Open() map[string]bool {
	open := map[string]bool{}
	for _, address := range []string{h.config.Listen, h.config.HTTP} {
		if address != "" && !certificate.Loopback(address) {
			open[address] = h.tlsFor(address) != nil
		}
	}
	return open
}
