//go:build amd64 || arm64

package probe

import (
	"errors"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// network are tries to reach anything.
func network() []Probe {
	const p = "P13"
	return []Probe{
		{"tcp", p, true, func(b *bait) error { return reach("tcp", b.TCP) }},
		{"tcp-version-6", p, false, func(b *bait) error { return reach("tcp", b.TCP6) }},
		{"udp", p, true, func(b *bait) error { return reach("udp", b.UDP) }},
		{"unix-socket", p, true, func(b *bait) error { return reach("unix", b.Unix) }},
		{"unix-socket-abstract", p, true, func(b *bait) error { return reach("unix", b.Abstract) }},
		{"tcp-out", p, false, func(*bait) error { return reach("tcp", "192.0.2.1:80") }},
		{"udp-out", p, false, func(*bait) error { return send("192.0.2.1:53") }},
		{"udp-out-version-6", p, false, func(*bait) error { return send("[2001:db8::1]:53") }},
		{"multicast", p, false, func(*bait) error { return send("224.0.0.251:5353") }},
		{"metadata-service", p, false, func(*bait) error { return reach("tcp", "169.254.169.254:80") }},
		{"names", p, false, names},
		{"icmp", p, false, ping},
		{"icmp-raw", p, false, socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"packets", p, false, socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{"virtual-machine-socket", p, false, socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"bluetooth", p, false, socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1)},
		{"kernel-crypto-socket", p, false, socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"tunnel", p, false, func(*bait) error { return overwrite("/dev/net/tun") }},
		{"interfaces", p, false, interfaces},
		{"interface-change", p, false, change},
		{"namespace-of-the-host", p, false, func(b *bait) error { return overwrite("/run/netns") }},
	}
}

// names succeeds when a server of names takes a datagram.
func names(*bait) error {
	data, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return err
	}
	refusal := errors.New("no server is named")
	for l := range strings.Lines(string(data)) {
		words := strings.Fields(l)
		if len(words) != 2 || words[0] != "nameserver" {
			continue
		}
		if refusal = reach("udp", net.JoinHostPort(words[1], "53")); refusal == nil {
			return nil
		}
	}
	return refusal
}

func socket(family, kind, protocol int) func(*bait) error {
	return func(*bait) error {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			return unix.Close(fd)
		}
		return err
	}
}

func ping(*bait) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 0, 0, 0}, 0, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}})
}

func interfaces(*bait) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return nil
		}
	}
	return errors.New("none but its own loopback")
}

func change(*bait) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
