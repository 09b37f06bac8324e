package roles

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Network is what of a network the commands of a role have.
type Network string

// The networks that there are. Each has what those before it have.
const (
	// NetworkNone is none at all: not even a loopback.
	NetworkNone Network = "none"
	// NetworkLoopback is a loopback of each command's own, that nothing else is at.
	NetworkLoopback Network = "loopback"
	// NetworkHost is that of the host, with all that it reaches.
	NetworkHost Network = "host"
)

// networks from the narrowest to the widest, as files spell them.
var networks = []string{string(NetworkNone), string(NetworkLoopback), string(NetworkHost)}

// Sandbox is what commands of a role (its shell, the checks and hooks that it
// runs, the servers of its tools) may use of a host that has a sandbox. What is
// not said is as much as the host gives.
type Sandbox struct {
	// MemoryMiB is memory of a command's processes together: 16 to 1,048,576.
	MemoryMiB int64 `yaml:"memory_mib"`
	// DiskMiB is how much a command writes to its workspace and caches: 16 to 1,048,576.
	DiskMiB int64 `yaml:"disk_mib"`
	// Processes and threads at once: 4 to 32,768.
	Processes int64 `yaml:"processes"`
	// FileMiB is how large a file that a command writes can get: 1 to 1,048,576.
	FileMiB int64 `yaml:"file_mib"`
	// OpenFiles of each process: 16 to 1,048,576.
	OpenFiles int64 `yaml:"open_files"`
	// CPU is processor time of each process: 1 second to 24 hours.
	CPU time.Duration `yaml:"cpu"`
	// Network is none, loopback or host.
	Network Network `yaml:"network"`
}

// DefaultSandbox is the most that a host gives whose operator says nothing.
func DefaultSandbox() Sandbox {
	return Sandbox{MemoryMiB: 2048, DiskMiB: 4096, Processes: 256, FileMiB: 1024, OpenFiles: 1024, CPU: 30 * time.Minute, Network: NetworkLoopback}
}

// bound is a number of a sandbox, by its key, and within what it lies.
type bound struct {
	key         string
	least, most int64
	of          func(*Sandbox) *int64
}

var bounds = []bound{
	{"memory_mib", 16, 1 << 20, func(s *Sandbox) *int64 { return &s.MemoryMiB }},
	{"disk_mib", 16, 1 << 20, func(s *Sandbox) *int64 { return &s.DiskMiB }},
	{"processes", 4, 1 << 15, func(s *Sandbox) *int64 { return &s.Processes }},
	{"file_mib", 1, 1 << 20, func(s *Sandbox) *int64 { return &s.FileMiB }},
	{"open_files", 16, 1 << 20, func(s *Sandbox) *int64 { return &s.OpenFiles }},
}

const leastCPU, mostCPU = time.Second, 24 * time.Hour

// Over returns s, with what it leaves open as base has it.
func (s Sandbox) Over(base Sandbox) Sandbox {
	for _, b := range bounds {
		orDefault(b.of(&s), *b.of(&base))
	}
	orDefault(&s.CPU, base.CPU)
	orDefault(&s.Network, base.Network)
	return s
}

// Within returns what a role has that asks for s, on a host that gives most: the
// lesser of both, and where it asks for nothing all that the host gives, but of the
// network no more than a loopback. In most everything is said.
func (s Sandbox) Within(most Sandbox) Sandbox {
	orDefault(&s.Network, NetworkLoopback)
	s = s.Over(most)
	for _, b := range bounds {
		*b.of(&s) = min(*b.of(&s), *b.of(&most))
	}
	s.CPU = min(s.CPU, most.CPU)
	if s.Network.wider(most.Network) {
		s.Network = most.Network
	}
	return s
}

// Beyond names what s asks for that a host does not give, by its keys; nil when
// it has all it asks for.
func (s Sandbox) Beyond(most Sandbox) (keys []string) {
	for _, b := range bounds {
		if *b.of(&s) > *b.of(&most) {
			keys = append(keys, b.key)
		}
	}
	if s.CPU > most.CPU {
		keys = append(keys, "cpu")
	}
	if s.Network.wider(most.Network) {
		keys = append(keys, "network")
	}
	return keys
}

// wider says whether n has what other has not. Nothing said is the narrowest.
func (n Network) wider(other Network) bool {
	return slices.Index(networks, string(n)) > slices.Index(networks, string(other))
}

// String says all of it in a line, for people and records.
func (s Sandbox) String() string {
	return fmt.Sprintf("memory %d MiB, disk %d MiB, %d processes, files of %d MiB, %d open files, processor time %s, network %s",
		s.MemoryMiB, s.DiskMiB, s.Processes, s.FileMiB, s.OpenFiles, s.CPU, s.Network)
}

// ParseSandbox reads a sandbox from keys and values, spelt as in role files, and
// reports all that is wrong with them, with code usage/argument.
func ParseSandbox(values map[string]string) (s Sandbox, err error) {
	var errs []*fault.Error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if e := s.set(key, values[key]); e != nil {
			errs = append(errs, e)
		}
	}
	return s, fault.Join(errs)
}

func (s *Sandbox) set(key, value string) *fault.Error {
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New("usage/argument", format, args...).At("sandbox limit").Got(value)
	}
	switch i := slices.IndexFunc(bounds, func(b bound) bool { return b.key == key }); {
	case i >= 0:
		b := bounds[i]
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < b.least || n > b.most {
			return refuse("%s is not a number within %d and %d", key, b.least, b.most)
		}
		*b.of(s) = n
	case key == "cpu":
		t, err := time.ParseDuration(value)
		if err != nil || t < leastCPU || t > mostCPU {
			return refuse("cpu is not a time within %s and %s", leastCPU, mostCPU)
		}
		s.CPU = t
	case key == "network":
		if !slices.Contains(networks, value) {
			return refuse("unknown network").Want("%s", strings.Join(networks, ", "))
		}
		s.Network = Network(value)
	default:
		known := []string{"cpu", "network"}
		for _, b := range bounds {
			known = append(known, b.key)
		}
		return fault.New("usage/argument", "there is no such limit").At("sandbox limit").Got(key).Want("%s", suggest.Among(key, known))
	}
	return nil
}

// sandbox checks what a file says of it.
func (c *checker) sandbox() {
	for _, b := range bounds {
		c.within(*b.of(&c.role.Sandbox), b.least, b.most, "sandbox", b.key)
	}
	c.lasting(c.role.Sandbox.CPU, leastCPU, mostCPU, "sandbox", "cpu")
	c.oneOf("network", string(c.role.Sandbox.Network), networks, "sandbox", "network")
}
