package processes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// The most that the tools of a package may be.
const (
	maxToolFiles = 200
	maxToolBytes = 16 << 20 // of all files
)

// ToolFile is a file of a package's tools.
type ToolFile struct {
	// Name is its path below tools/, with slashes.
	Name string
	// Program says that it may be executed.
	Program bool
	Data    []byte
}

// Tools reads the files below tools/ of a package, in the order of their names:
// all but hidden ones and links, which are no part of a package. It returns
// process/tool where there are more than 200 files or 16 MiB, and nothing where
// there are none.
func Tools(dir fs.FS, pack string) ([]ToolFile, error) { return ToolsIn(dir, path.Join(pack, "tools")) }

// ToolsIn is [Tools] for the directory of the tools itself.
func ToolsIn(dir fs.FS, top string) (files []ToolFile, err error) {
	if info, err := fs.Stat(dir, top); err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // a package need not have any
	}
	size := int64(0)
	err = fs.WalkDir(dir, top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != top && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		f, err := toolFile(dir, name, strings.TrimPrefix(name, top+"/"))
		if err != nil {
			return err
		}
		files = append(files, f)
		if size += int64(len(f.Data)); size > maxToolBytes || len(files) > maxToolFiles {
			return fault.New("process/tool", "the tools of the package are more than %d files or %d MiB", maxToolFiles, maxToolBytes>>20)
		}
		return nil
	})
	if err != nil && fault.Code(err) == "" {
		err = fault.New("process/tool", "the tools of the package cannot be read").Because(err)
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

func toolFile(dir fs.FS, full, name string) (f ToolFile, err error) {
	info, err := fs.Stat(dir, full)
	if err != nil {
		return f, err
	}
	if info.Size() > maxToolBytes {
		return f, fault.New("process/tool", "%s has more than %d MiB", name, maxToolBytes>>20)
	}
	data, err := fs.ReadFile(dir, full)
	return ToolFile{Name: name, Program: info.Mode().Perm()&0o111 != 0, Data: data}, err
}

// ToolsDigest is the lower-case hex SHA-256 that names the tools of a package:
// of the name, the content, and whether it may be executed, of each file, in
// whatever order they come; empty where there is none.
func ToolsDigest(files []ToolFile) string {
	if len(files) == 0 {
		return ""
	}
	files = slices.SortedFunc(slices.Values(files), func(a, b ToolFile) int { return strings.Compare(a.Name, b.Name) })
	all := sha256.New()
	for _, f := range files {
		fmt.Fprintf(all, "%q %t %x\n", f.Name, f.Program, sha256.Sum256(f.Data))
	}
	return hex.EncodeToString(all.Sum(nil))
}

// Package returns the directory of the package that a process is, in the
// directory that it was found in; false for a process that is a single file.
func (e *Entry) Package() (string, bool) {
	if e.Dir == nil || path.Base(e.Path) != "process.yaml" {
		return "", false
	}
	return path.Dir(e.Path), true
}

// Tools reads the files of the package's tools; none for a process that is no
// package.
func (e *Entry) Tools() ([]ToolFile, error) {
	pack, ok := e.Package()
	if !ok {
		return nil, nil
	}
	return Tools(e.Dir, pack)
}

// takeTools gives a definition of nodes the digest of the tools that lie beside
// its file.
func (s Source) takeTools(r *reading) {
	if s.Dir == nil || path.Base(s.Path) != "process.yaml" {
		return
	}
	files, err := Tools(s.Dir, path.Dir(s.Path))
	if err != nil {
		r.doc.Add(fault.From(err))
	}
	if digest := ToolsDigest(files); digest != "" {
		r.def.Toolkit = digest
	}
}

var toolsDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// toolkit checks what names the tools of a definition.
func (v *validator) toolkit() {
	if t := v.def.Toolkit; t != "" && !toolsDigest.MatchString(t) {
		v.refuse("process/tool", at("toolkit"), "not the digest of a package's tools").Got(t).Want("64 of 0-9 and a-f")
	}
}
