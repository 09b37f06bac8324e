package fetch

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// reserved are addresses that are not of the public Internet, beside those
// that package netip knows (IANA's registries of special purpose addresses).
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Public reports whether an address is one of the public Internet. IPv4
// addresses inside of IPv6 ones are looked at as what they are.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

const maxURL = 4096 // bytes

func denied(where, format string, args ...any) *fault.Error {
	return fault.New("source/denied", format, args...).At(where)
}

// allowed parses a URL and refuses what is not a plain request to a host of
// the list.
func (c *Client) allowed(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, denied("url", "the address has %d bytes; at most %d are taken", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, denied("url", "it is not an address of http or https")
	}
	u.Host = strings.ToLower(u.Host)
	host := strings.TrimSuffix(u.Hostname(), ".")
	switch port := u.Port(); {
	case u.User != nil:
		return nil, denied("url", "an address with a user in it is not fetched")
	case !c.config.Private && port != "" && port != "80" && port != "443":
		return nil, denied("url", "only the ports 80 and 443 are asked").Got(port)
	case !c.config.listed(host):
		return nil, denied("url", "the host is not one that may be asked").Got(host).Want("%s", c.config.hint())
	}
	return u, nil
}

// listed reports whether a host is in the list: by name, below a "*.name", or
// by "*", which is any host with a name.
func (c Config) listed(host string) bool {
	_, err := netip.ParseAddr(host)
	address := err == nil
	for _, h := range c.Hosts {
		h = strings.ToLower(h)
		below, wild := strings.CutPrefix(h, "*.")
		switch {
		case h == host, h == "*" && !address && strings.Contains(host, "."):
			return true
		case wild && !address && strings.HasSuffix(host, "."+below):
			return true
		}
	}
	return false
}

func (c Config) hint() string {
	if len(c.Hosts) == 0 {
		return "no host is allowed here"
	}
	return "you may ask " + strings.Join(c.Hosts[:min(len(c.Hosts), 20)], ", ")
}
