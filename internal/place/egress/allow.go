package egress

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// List is the hosts that may be reached: names at ports 80 and 443, or at the
// port that is named. The zero List allows none.
type List []string

// maxHosts is how many a list may have.
const maxHosts = 64

// Check refuses entries that are no host's name, an address without a port, and
// more entries than anybody needs.
func (l List) Check() error {
	if len(l) > maxHosts {
		return fault.New("usage/argument", "%d hosts; there can be %d", len(l), maxHosts)
	}
	for _, entry := range l {
		host, port, err := split(entry)
		_, literal := address(host)
		switch {
		case err != nil || !literal && !isName(host):
			return fault.New("usage/argument", "not the name of a host").Got(entry).
				Want("HOST or HOST:PORT, without a scheme, a path or a wildcard, as in registry.npmjs.org")
		case literal && port == "":
			return fault.New("usage/argument", "an address is named with its port").Got(entry).Want("ADDRESS:PORT, or the name of a host")
		}
	}
	return nil
}

// split returns the host of an entry, as it is compared, and its port; empty where
// none is named.
func split(entry string) (host, port string, err error) {
	host = entry
	if _, literal := address(entry); !literal && strings.Contains(entry, ":") {
		if host, port, err = net.SplitHostPort(entry); err != nil {
			return "", "", err
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", fault.New("usage/argument", "not a port").Got(port)
		}
	}
	return plainName(host), port, nil
}

// plainName is a name as it is compared.
func plainName(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// isName reports whether a host is a name of letters, digits, hyphens and dots,
// and not something that a resolver takes for an address, such as 127.1.
func isName(host string) bool {
	if host == "" || len(host) > 253 || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return false
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	return !slices.Contains(labels, "") && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// address returns the address that a host is a literal of.
func address(host string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return a.Unmap(), err == nil
}

// permit says how much a request's host may be.
type permit int

const (
	refused permit = iota
	public         // it is named, without a port: it must be on the public network
	private        // it is named with this port: it may also be on a private network
)

// permits says what is allowed of a host at a port.
func (l List) permits(host, port string) permit {
	best := refused
	for _, entry := range l {
		name, at, err := split(entry)
		if err != nil || name != plainName(host) {
			continue
		}
		switch at {
		case port:
			return private
		case "":
			if port == "80" || port == "443" {
				best = public
			}
		}
	}
	return best
}

// special are prefixes that are not public, beside those that package netip knows:
// of carriers, of protocols, of sites, and IPv6 addresses that stand for
// one of IPv4.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// mayDial reports whether a host's address may be connected to. What serves the
// machine itself or the link alone, such as a cloud's metadata at
// 169.254.169.254, must be named as an address. own are the machine's addresses, of
// which some can be public.
func mayDial(a netip.Addr, named bool, p permit, own []netip.Addr) bool {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast():
		return false
	case named:
		return p == private
	case a.IsLinkLocalUnicast():
		return false
	case a.IsLoopback() || a.IsPrivate() || !a.IsGlobalUnicast() || slices.Contains(own, a) ||
		slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) }):
		return p == private
	}
	return p != refused
}

// interfaces returns the addresses of this machine.
func interfaces() (own []netip.Addr, err error) {
	all, err := net.InterfaceAddrs()
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil {
			own = append(own, p.Addr().Unmap().WithZone(""))
		}
	}
	return own, err
}
