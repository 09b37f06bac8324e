package isolation

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/internal/place/setup"
)

// packageHome is the home of a package manager that keeps its downloads and its
// credentials side by side: commands have one of their own, in which the downloads
// of the user are shown.
type packageHome struct {
	variable string   // names it
	within   string   // where it is otherwise, below the home directory
	dirs     []string // downloads
	files    []string // what else is needed of it, copied
}

var packageHomes = []packageHome{
	{"CARGO_HOME", ".cargo", []string{"registry", "git"}, nil},
	{"HEX_HOME", ".hex", []string{"packages"}, []string{"cache.ets"}},
}

// mostCopied bounds each file that is copied out of a package home.
const mostCopied = 64 << 20

// at returns where the user has it, and whether there is anything to show.
func (p packageHome) at() (string, bool) {
	root := os.Getenv(p.variable)
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false
		}
		root = filepath.Join(home, p.within)
	}
	real, there := realPath(root)
	return real, there && filepath.IsAbs(root)
}

// useHomes gives a command homes of package managers, each with the downloads of
// this user to read and nothing else that lies beside them.
func (c cache) useHomes(spec *sandbox.Spec, own string) error {
	for _, p := range packageHomes {
		root, there := p.at()
		if !there {
			continue
		}
		to := filepath.Join(own, p.variable)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		spec.Env = append(spec.Env, p.variable+"="+to)
		for _, name := range p.dirs {
			real, there := realPath(filepath.Join(root, name))
			if !there || !sandbox.Check().CanLayer {
				continue
			}
			keep := filepath.Join(filepath.Dir(own), p.variable+"-"+name)
			if err := os.MkdirAll(keep, 0o700); err != nil {
				return err
			}
			spec.Layers = append(spec.Layers, sandbox.Layer{Path: real, At: filepath.Join(to, name), Keep: keep})
		}
		for _, name := range p.files {
			if err := copyOnce(filepath.Join(root, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyOnce copies a file that is there, is not too large, and was not copied yet.
func copyOnce(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil //nolint:nilerr // what is not there is not shown
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, mostCopied))
	return errors.Join(err, out.Close())
}

// useFetched has a command of a checkout find what its setup has fetched into it.
func useFetched(spec *sandbox.Spec, dir string) {
	for name, within := range map[string]string{"CARGO_HOME": setup.CargoHome, "BUNDLE_PATH": setup.Bundle} {
		made := filepath.Join(dir, within)
		if info, err := os.Lstat(made); err != nil || !info.IsDir() {
			continue
		}
		spec.Env = slices.DeleteFunc(spec.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		spec.Env = append(spec.Env, name+"="+made)
	}
}

// wheels is a directory of packages for pip that this user names, and what tells
// commands of it: without a registry, nothing else is asked.
func wheels() (dir string, env []string) {
	dir = os.Getenv("PIP_FIND_LINKS")
	if info, err := os.Stat(dir); !filepath.IsAbs(dir) || err != nil || !info.IsDir() {
		return "", nil
	}
	return dir, []string{"PIP_FIND_LINKS=" + dir, "PIP_NO_INDEX=1"}
}
