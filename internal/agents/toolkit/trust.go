package toolkit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/processes"
)

// directory is where a data directory keeps what was trusted, by digest.
const directory = "toolkits"

// Pin is what the operator trusted of a package: the bytes of its tools, and
// what they said of themselves.
type Pin struct {
	// Process is the name of the process that it was trusted for.
	Process string `json:"process"`
	// Digest names the files, see [processes.ToolsDigest].
	Digest string `json:"digest"`
	Tools  []Tool `json:"tools,omitempty"`
	// Servers are pins of servers of the Model Context Protocol; they are their
	// caller's to read.
	Servers json.RawMessage `json:"servers,omitempty"`
	// Unsandboxed says that they were started on the machine as it is to be asked
	// what they do.
	Unsandboxed bool      `json:"unsandboxed,omitempty"`
	At          time.Time `json:"at"`
}

// Trust keeps what was trusted in a data directory: pins in toolkits.json, and
// the files below toolkits/. It may be used by several processes.
type Trust struct {
	dir  string
	list privatefile.List[Pin]
}

// NewTrust returns what is trusted in a data directory.
func NewTrust(dir string) *Trust {
	return &Trust{dir, privatefile.List[Pin]{Dir: dir, Name: "toolkits.json", Code: "process/trust"}}
}

// Pins returns all pins.
func (t *Trust) Pins() ([]Pin, error) {
	list, _, err := t.list.Load()
	return list, err
}

// Dir is where the files of a digest are, if they were trusted.
func (t *Trust) Dir(digest string) string { return filepath.Join(t.dir, directory, digest) }

// Add trusts files as a pin describes them. What was trusted of the process
// before stays so, for work that goes on by it. It is safe to repeat.
func (t *Trust) Add(p Pin, files []processes.ToolFile) error {
	if processes.ToolsDigest(files) != p.Digest {
		return fault.New("process/tool-changed", "the tools changed while they were looked at").At(p.Process)
	}
	return t.list.Change(func(all []Pin) ([]Pin, error) {
		if err := t.Keep(p.Digest, files); err != nil {
			return nil, err
		}
		return append(slices.DeleteFunc(all, func(o Pin) bool { return o.Process == p.Process && o.Digest == p.Digest }), p), nil
	})
}

// Remove takes back all trust in the tools of a process, and removes the files
// that nobody else trusts. It returns process/unknown when there was none.
func (t *Trust) Remove(process string) error {
	return t.list.Change(func(all []Pin) ([]Pin, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(p Pin) bool { return p.Process == process })
		if len(rest) == len(all) {
			return nil, fault.New("process/unknown", "no tools of such a process are trusted").At("NAME").Got(process)
		}
		for _, p := range all {
			if !slices.ContainsFunc(rest, func(o Pin) bool { return o.Digest == p.Digest }) {
				_ = discard(t.Dir(p.Digest)) // what is left is not trusted
			}
		}
		return rest, nil
	})
}

// Find returns the pin of a digest for a process. Where there is none, the
// refusal is process/tool-changed if other tools of the process are trusted, and
// else process/tool-untrusted.
func (t *Trust) Find(process, digest string) (Pin, error) {
	pins, err := t.Pins()
	if err != nil {
		return Pin{}, err
	}
	changed := false
	for _, p := range slices.Backward(pins) {
		if p.Process == process && p.Digest == digest {
			return p, nil
		}
		changed = changed || p.Process == process
	}
	e := fault.New("process/tool-untrusted", "the tools of process %q are not trusted here", process)
	if changed {
		e = fault.New("process/tool-changed", "the tools of process %q are not those that were trusted here", process)
	}
	return Pin{}, e.Want("the operator of this host looks at them with \"loom process trust %s --show\", and then trusts them: \"loom process trust %s\"", process, process)
}

// Open finds the pin of a digest, and holds the files against it. It returns the
// directory that they are in.
func (t *Trust) Open(process, digest string) (Pin, string, error) {
	p, err := t.Find(process, digest)
	if err != nil {
		return p, "", err
	}
	if !t.Has(digest) {
		return p, "", fault.New("process/tool-changed", "the copy of the tools of process %q was changed or is gone", process).At(t.Dir(digest)).
			Want("trust them again: \"loom process trust %s\"", process)
	}
	return p, t.Dir(digest), nil
}

// Has reports whether the very files of a digest are in their place.
func (t *Trust) Has(digest string) bool {
	files, err := Files(t.Dir(digest))
	return err == nil && digest != "" && processes.ToolsDigest(files) == digest && alone(t.Dir(digest), len(files))
}

// Keep copies files to the place of their digest, whole or not at all, for what
// is trusted elsewhere: it makes nothing trusted. It is safe to repeat.
func (t *Trust) Keep(digest string, files []processes.ToolFile) error {
	if processes.ToolsDigest(files) != digest || digest == "" {
		return fault.New("process/tool-changed", "the files are not those of the digest").Got(digest)
	}
	if err := t.keep(digest, files); err != nil {
		return fault.New("process/trust", "the tools cannot be copied").At(t.Dir(digest)).Because(err)
	}
	return nil
}

// Files reads the files of a directory as those of tools.
func Files(dir string) ([]processes.ToolFile, error) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return processes.ToolsIn(root.FS(), filepath.Base(dir))
}

// alone reports whether there are so many files below a directory and no more:
// hidden ones and links, which no digest covers, are in no copy.
func alone(dir string, files int) bool {
	err := fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files--
		}
		return err
	})
	return err == nil && files == 0
}

// keep copies files to their place, whole or not at all. What is there already
// and is as it should be stays.
func (t *Trust) keep(digest string, files []processes.ToolFile) error {
	to := t.Dir(digest)
	if t.Has(digest) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = discard(fresh) }()
	if err := Copy(fresh, files); err != nil {
		return err
	}
	if err := discard(to); err != nil {
		return err
	}
	return durable.Rename(fresh, to)
}

// Copy writes files below an existing directory, for the owner alone: to read,
// and programs to execute.
func Copy(dir string, files []processes.ToolFile) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		mode := fs.FileMode(0o400)
		if f.Program {
			mode = 0o500
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(f.Name)), 0o700); err != nil {
			return err
		}
		if err := write(root, f, mode); err != nil {
			return err
		}
	}
	return durable.Tree(dir)
}

// write writes a file while nothing is started: what is started meanwhile would
// hold the file open for writing, and a program that is open so does not run.
func write(root *os.Root, f processes.ToolFile, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return root.WriteFile(filepath.FromSlash(f.Name), f.Data, mode)
}

func discard(dir string) error {
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
