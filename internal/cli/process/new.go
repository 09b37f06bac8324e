package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/processes"
)

func (a *Commands) newProcess() *cobra.Command {
	var from, dir string
	cmd := &cobra.Command{
		Use: "new NAME [flags]", Short: "begin a process of your own", Args: console.Takes("NAME"),
		Long: `New makes a package NAME/process.yaml in loom-processes/: one that is small,
sound and explained, with a test that "loom process test NAME" passes, or with
--from a copy of another one under a new name.`,
		Example: "  loom process new tender\n  loom process new our-memo --from research-report",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := console.CheckToken("NAME", args[0]); err != nil {
				return err
			}
			text, err := a.beginning(args[0], from)
			if err != nil {
				return err
			}
			file := filepath.Join(dir, args[0], "process.yaml")
			if err := writeInto(file, text); err != nil {
				return err
			}
			if from == "" {
				test, script := processes.BeginningTest()
				beside := filepath.Join(dir, args[0], "test", "first")
				if err := errors.Join(writeInto(beside+".yaml", test), writeInto(beside+".script.yaml", script)); err != nil {
					return err
				}
			}
			return a.PrintAny(map[string]string{"file": file}, func(w io.Writer) { fmt.Fprintln(w, file) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "begin with a copy of the process of this `NAME`")
	cmd.Flags().StringVar(&dir, "dir", "loom-processes", "make it in this `DIR`")
	return cmd
}

// writeInto writes a new file, and the directories that it lies in.
func writeInto(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a file of the workspace
		return fault.New("usage/argument", "cannot be made").At(file).Because(errors.Unwrap(err))
	}
	return console.WriteNew(file, []byte(text))
}

// beginning is the text of a new process.
func (a *Commands) beginning(name, from string) (string, error) {
	if from == "" {
		return processes.Beginning(name), nil
	}
	_, e, err := a.Pick(from)
	if err != nil {
		return "", err
	}
	if e.Dir == nil {
		return "", fault.New("usage/argument", "standard input cannot be copied").At("--from")
	}
	data, err := fs.ReadFile(e.Dir, e.Path)
	if err != nil {
		return "", fault.New("usage/argument", "cannot be read").At("--from").Got(from)
	}
	return strings.Replace(string(data), "name: "+e.Name, "name: "+name, 1), nil
}

func (a *Commands) installProcess() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "install PATH [flags]", Short: "take a process file or package to your own", Args: console.Takes("PATH"),
		Long: `Install checks a process file, or a package directory with a process.yaml, and
copies it to ~/.loom/processes/, where every workspace finds it. Nothing is
copied of one that is not sound. Hidden files and links are left out.`,
		Example: "  loom process install ./tender\n  loom process install ours.yaml --replace",
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := a.install(args[0], replace)
			if err != nil {
				return err
			}
			return a.PrintAny(map[string]string{"file": file}, func(w io.Writer) { fmt.Fprintln(w, file) })
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "take the place of the one of that name")
	return cmd
}

func (a *Commands) install(from string, replace bool) (string, error) {
	if !console.IsFile(from) {
		from = "./" + from
	}
	_, e, err := a.Pick(from)
	if err != nil {
		return "", err
	}
	dir, err := console.UserProcesses()
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, e.Name)
	taken := []string{to, to + ".yaml", to + ".yml"}
	for _, path := range taken {
		if console.Exists(path) && !replace {
			return "", fault.New("process/output", "process %q is installed already", e.Name).At(path).Want("--replace takes its place")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the user's own, and no secret
		return "", fault.New("usage/argument", "cannot be made").At(dir).Because(errors.Unwrap(err))
	}
	return to, a.copyProcess(e, to, taken)
}

// copyProcess makes a copy beside its place and moves it there, so that it is
// never half there.
func (a *Commands) copyProcess(e *processes.Entry, to string, taken []string) error {
	fresh, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return fault.New("usage/argument", "cannot be written").At(to).Because(errors.Unwrap(err))
	}
	defer os.RemoveAll(fresh)
	if err := copyFiles(e, fresh); err != nil {
		return err
	}
	if err := a.soundCopy(fresh); err != nil {
		return err
	}
	for _, path := range taken {
		if err := os.RemoveAll(path); err != nil {
			return fault.New("usage/argument", "cannot be replaced").At(path).Because(errors.Unwrap(err))
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	return os.Rename(fresh, to)
}

// soundCopy refuses what is not sound without what it had around it: a file
// that includes others from outside its package.
func (a *Commands) soundCopy(dir string) error {
	s, err := a.source(dir)
	if err != nil {
		return err
	}
	c, err := a.Catalog(".")
	if err != nil {
		return err
	}
	if r := processes.Read(c.Library(), []processes.Source{s}, a.RoleSet())[0]; len(r.Problems) > 0 {
		return a.Problems(fault.Join(r.Problems))
	}
	return nil
}

// The most that a package may hold.
const (
	packageFiles = 500
	packageBytes = 16 << 20
)

func copyFiles(e *processes.Entry, to string) error {
	if filepath.Base(e.Path) != "process.yaml" {
		data, err := fs.ReadFile(e.Dir, e.Path)
		if err != nil {
			return fault.New("usage/argument", "cannot be read").At(e.File)
		}
		return os.WriteFile(filepath.Join(to, "process.yaml"), data, 0o644) //nolint:gosec // as above
	}
	base := filepath.Dir(e.Path)
	n, size := 0, int64(0)
	return fs.WalkDir(e.Dir, base, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != base && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(path, base), "/")
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755) //nolint:gosec // as above
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if n, size = n+1, size+info.Size(); n > packageFiles || size > packageBytes {
			return fault.New("usage/argument", "the package has more than %d files or %d MiB", packageFiles, packageBytes>>20).At(e.File)
		}
		data, err := fs.ReadFile(e.Dir, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm()&0o755|0o600)
	})
}
