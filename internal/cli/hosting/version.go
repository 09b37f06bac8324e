package hosting

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
)

// facts are what is known of a build. What the toolchain did not note is left out.
type facts struct {
	Version string `json:"version"`
	// Module is its version as the module system has it.
	Module string `json:"module,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Date is that of the commit, in RFC 3339.
	Date string `json:"date,omitempty"`
	// Modified says that the checkout was not as the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	// Modules are the libraries in it, by path.
	Modules map[string]string `json:"modules,omitempty"`
}

// factsOf reads what the toolchain noted in the program.
func factsOf(info *debug.BuildInfo) facts {
	f := facts{Version: host.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return f
	}
	f.Module, f.Modules = info.Main.Version, map[string]string{}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			f.Commit = s.Value
		case "vcs.time":
			f.Date = s.Value
		case "vcs.modified":
			f.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		m := used(info, m)
		f.Modules[m.Path] = m.Version
	}
	return f
}

// used is the module that stands in the place of m. A directory below the main
// module is named as what it is, a part of that module's source.
func used(info *debug.BuildInfo, m *debug.Module) *debug.Module {
	switch {
	case m.Replace == nil:
		return m
	case strings.HasPrefix(m.Replace.Path, "./"):
		return &debug.Module{Path: path.Join(info.Main.Path, m.Replace.Path), Version: info.Main.Version}
	}
	return m.Replace
}

func (f facts) print(w io.Writer) {
	fmt.Fprintf(w, "loom %s (github.com/loomrun/loom) %s %s/%s\n", f.Version, f.Go, f.OS, f.Arch)
	commit := cmp.Or(f.Commit, "not noted in this build")
	if f.Modified {
		commit += ", and changes that are in no commit"
	}
	fmt.Fprintf(w, "commit %s\ndate %s\nmodule %s, with %d others\n", commit, console.Dash(f.Date), cmp.Or(f.Module, "(devel)"), len(f.Modules))
}

// Version returns the command of that name.
func (a *Commands) Version() *cobra.Command {
	var sbom bool
	cmd := &cobra.Command{
		Use: "version", Short: "what this is, and what it is made of", Args: console.Takes(),
		Long: `Version prints the release, the commit and its date, the versions of Go and of
the module. "loom --version" is the same. With --json the modules in it are
listed; --sbom prints them as a bill of materials, CycloneDX 1.6 in JSON.`,
		Example: "  loom version\n  loom version --sbom > loom.cdx.json",
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			if sbom {
				return WriteBill(a.Out, info, host.Version)
			}
			f := factsOf(info)
			return a.PrintAny(f, f.print)
		},
	}
	cmd.Flags().BoolVar(&sbom, "sbom", false, "the modules in it as CycloneDX 1.6, in JSON")
	return cmd
}
