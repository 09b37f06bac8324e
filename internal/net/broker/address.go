package broker

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// splitAddress splits HOST:PORT.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return host, int(n), err
}

// sameHost says whether name is the machine that listens on listen: the same
// address; or any of this machine's, when that listens on all of them. A name
// that cannot be resolved yet is ours when it begins with this machine's own,
// as the names that a cluster manager gives do.
func sameHost(name, listen string) bool {
	theirs, ours := addresses(name), addresses(listen)
	if len(theirs) == 0 {
		label, _, _ := strings.Cut(name, ".")
		return label == machine()
	}
	if ip := net.ParseIP(listen); ip != nil && ip.IsUnspecified() {
		ours = local()
	}
	return slices.ContainsFunc(theirs, func(ip string) bool { return slices.Contains(ours, ip) })
}

// machine is the first label of this machine's name.
func machine() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	label, _, _ := strings.Cut(name, ".")
	return label
}

// resolveWithin bounds the look-up of one name.
const resolveWithin = 2 * time.Second

// addresses returns what a host's name resolves to.
func addresses(host string) []string {
	if ip := net.ParseIP(host); ip != nil {
		return []string{ip.String()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveWithin)
	defer cancel()
	found, _ := net.DefaultResolver.LookupHost(ctx, host)
	return found
}

// local returns the addresses of this machine.
func local() []string {
	list := []string{"127.0.0.1", "::1"}
	interfaces, _ := net.InterfaceAddrs()
	for _, a := range interfaces {
		if network, ok := a.(*net.IPNet); ok {
			list = append(list, network.IP.String())
		}
	}
	return list
}
