package verify

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of deliverables.
const (
	MaxName = 128      // bytes of a name
	MaxFile = 16 << 20 // bytes of a file
	MaxText = 256 << 10
)

// Command is how a list of checks names the runtime's own: that every phase
// that passed has delivered what it promised, and that no rule of severity
// error finds fault with it.
const Command = "loom:deliverables"

// Deliverable is a file that a phase promises.
type Deliverable struct {
	// Name is the file's path in the workspace, with slashes.
	Name string
	// About says what it is.
	About string
}

// ParseDeliverable reads "NAME" or "NAME — what it is"; in place of the dash
// there may be a shorter one, with blanks around it. A name is a relative path
// without ".." whose parts begin with no point; what it leaves to the context
// ([Fill]) has its default. The error is process/deliverable.
func ParseDeliverable(s string) (Deliverable, error) {
	s = Fill(s, nil)
	d := Deliverable{Name: strings.TrimSpace(s)}
	for _, dash := range []string{" — ", " – ", " -- ", " - "} {
		if name, about, ok := strings.Cut(s, dash); ok {
			d = Deliverable{strings.TrimSpace(name), strings.TrimSpace(about)}
			break
		}
	}
	if !nameIsSound(d.Name) {
		return d, fault.New("process/deliverable", "not the name of a file in the workspace").Got(d.Name).
			Want(`write it as "NAME.md — what it is", with letters, digits, '.', '-', '_' and '/'`)
	}
	return d, nil
}

func nameIsSound(name string) bool {
	if name == "" || len(name) > MaxName || !fs.ValidPath(name) || path.Base(name) == "." {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("._-/", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Deliverables returns what a phase promises; what is no name is left out.
func Deliverables(p *loomv1.Phase) []Deliverable {
	var list []Deliverable
	for _, s := range p.GetDeliverables() {
		if d, err := ParseDeliverable(s); err == nil {
			list = append(list, d)
		}
	}
	return list
}

// Finding is one thing that is wrong with what was delivered.
type Finding struct {
	// Rule is the broken rule's name; "deliverables" for a file that is not as
	// promised, "format" for one that is not what its name says.
	Rule     string
	Severity loomv1.Severity
	// File and Line say where, if it is somewhere: the line counts from 1.
	File string
	Line int
	// Text says what is wrong, with the evidence.
	Text string
	// Phase is whose deliverables it is about, and Tier who found it: 1 a look
	// at the files, 2 a verifier, 3 the vote of reviewers.
	Phase string
	Tier  uint32
}

// promised is the rule that every phase has.
const promised = "deliverables"

// delivered reads a promised file, or says what is wrong with it.
func delivered(files fs.FS, d Deliverable) ([]byte, *Finding) {
	wrong := func(text string) *Finding {
		return &Finding{Rule: promised, Severity: loomv1.Severity_SEVERITY_ERROR, File: d.Name, Text: text}
	}
	info, err := fs.Stat(files, d.Name)
	switch {
	case err != nil:
		return nil, wrong(strings.TrimSpace("the file is not there; " + near(files, d.Name)))
	case !info.Mode().IsRegular():
		return nil, wrong("it is not a regular file")
	case info.Size() > MaxFile:
		return nil, wrong("it is larger than 16 MiB")
	}
	data, err := fs.ReadFile(files, d.Name)
	switch {
	case err != nil:
		return nil, wrong("the file cannot be read")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, wrong("the file is empty")
	}
	return data, nil
}

// near names a file that may have been meant.
func near(files fs.FS, name string) string {
	entries, err := fs.ReadDir(files, path.Dir(name))
	if err != nil {
		return "its directory is not there either"
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if n := suggest.Nearest(path.Base(name), names); n != "" {
		return "there is " + path.Join(path.Dir(name), n)
	}
	return "its name must be exactly this"
}
