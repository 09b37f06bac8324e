package sandbox

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/loomrun/loom/internal/base/fault"
)

// seatbeltSystem is what every command may read and run on macOS, by real paths:
// programs, libraries, and of /etc what is not secret.
var seatbeltSystem = []string{
	"/bin", "/sbin", "/usr", "/opt", "/System", "/Library/Apple", "/Library/Developer", "/Applications/Xcode.app",
	"/private/etc/group", "/private/etc/hosts", "/private/etc/localtime", "/private/etc/passwd", "/private/etc/protocols",
	"/private/etc/services", "/private/etc/shells", "/private/etc/ssl/cert.pem", "/private/etc/ssl/certs", "/private/etc/ssl/openssl.cnf",
	"/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select",
	"/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
}

// seatbeltBase is what every profile begins with: nothing is allowed but this. The
// settings of the kernel that may be read leave out those of other processes, whose
// environments are among them.
const seatbeltBase = `(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.version")
  (sysctl-name "vm.loadavg"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read* (literal "/"))
`

// seatbeltNetwork is what a command with the network of the host may do beside.
const seatbeltNetwork = `(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.trustd.agent"))
(allow file-read* (literal "/private/var/run/resolv.conf"))
`

// Profile returns the profile by which sandbox-exec of macOS keeps a command within
// the Spec. The last rule that matches decides, so what lies deeper comes later, as
// it does where directories are bound. Paths are taken to be real ones.
//
// Its text is tested. Nobody who wrote it has run it: [Check] on macOS tries what it
// promises, each time anew, before any command is run by it.
//
// It refuses with sandbox/unavailable what macOS cannot give: layers and a loopback
// of the command's own. Without Network a command reaches no address at all, this
// machine's neither.
func (s Spec) Profile() (string, error) {
	if len(s.Layers) > 0 || s.Serve != nil {
		return "", fault.New("sandbox/unavailable", "macOS has no layers of directories and no loopback for one command alone")
	}
	if bad := slices.IndexFunc(slices.Concat(s.Read, s.Write), unspellable); bad >= 0 {
		return "", fault.New("sandbox/spec", "a path with characters that nobody sees").Got(slices.Concat(s.Read, s.Write)[bad])
	}
	var p strings.Builder
	p.WriteString(seatbeltBase)
	rules := s.bounds()
	for _, dir := range ancestors(rules) {
		fmt.Fprintf(&p, "(allow file-read-metadata (literal %s))\n", spelled(dir))
	}
	for _, r := range rules {
		path := spelled(r.path)
		if r.write {
			fmt.Fprintf(&p, "(allow file-read* file-write* process-exec* (subpath %s))\n", path)
			continue
		}
		fmt.Fprintf(&p, "(allow file-read* process-exec* (subpath %s))\n", path)
		if slices.ContainsFunc(s.Write, func(dir string) bool { return within(r.path, dir) }) {
			fmt.Fprintf(&p, "(deny file-write* (subpath %s))\n", path)
		}
	}
	p.WriteString("(allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))\n")
	for _, dir := range s.pinned() {
		fmt.Fprintf(&p, "(deny file-write-unlink (literal %s))\n", spelled(dir))
	}
	if s.Network {
		p.WriteString(seatbeltNetwork)
	}
	return p.String(), nil
}

// pathRule says whether what lies at a path may be changed, or only read.
type pathRule struct {
	path  string
	write bool
}

// bounds lists what the command may see, outer directories before inner ones. What
// is both read and written is written.
func (s Spec) bounds() []pathRule {
	var all []pathRule
	for _, path := range slices.Concat(seatbeltSystem, s.Read) {
		if !slices.Contains(s.Write, path) {
			all = append(all, pathRule{path, false})
		}
	}
	for _, path := range s.Write {
		all = append(all, pathRule{path, true})
	}
	slices.SortStableFunc(all, func(a, b pathRule) int {
		return cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/"))
	})
	return slices.CompactFunc(all, func(a, b pathRule) bool { return a == b })
}

// ancestors lists the directories above what may be seen: each step of a path is
// looked at, and its names are not.
func ancestors(rules []pathRule) []string {
	list := []string{"/etc", "/tmp", "/var"} // links to what lies in /private
	for _, r := range rules {
		for dir := filepath.Dir(r.path); dir != "/"; dir = filepath.Dir(dir) {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pinned lists the directories between what is written and what in it is only read:
// who could rename one would have the files under another name, and write them.
func (s Spec) pinned() []string {
	var list []string
	for _, read := range s.Read {
		for _, write := range s.Write {
			if read == write || !within(read, write) {
				continue
			}
			for dir := filepath.Dir(read); dir != write; dir = filepath.Dir(dir) {
				list = append(list, dir)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func unspellable(path string) bool { return strings.ContainsFunc(path, unicode.IsControl) }

// spelled writes a path as a string of a profile.
func spelled(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
