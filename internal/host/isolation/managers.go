package isolation

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/place/sandbox"
)

// manager keeps versions of programs in a root of its own. What stands on the PATH
// only leads there.
type manager struct {
	variable string   // names the root
	root     string   // where it is otherwise, below the home directory
	parts    []string // what commands need of the root; nil for all of it
}

// managers are those whose roots are known. Of a root in which credentials can lie,
// parts leave them out; Cargo's own root, which has tokens, is not needed at all.
var managers = []manager{
	{"PYENV_ROOT", ".pyenv", nil},
	{"RBENV_ROOT", ".rbenv", nil},
	{"NODENV_ROOT", ".nodenv", nil},
	{"GOENV_ROOT", ".goenv", nil},
	{"NVM_DIR", ".nvm", []string{"versions", "alias", "nvm.sh", "nvm-exec"}},
	{"ASDF_DATA_DIR", ".asdf", []string{"installs", "plugins", "shims", "bin", "lib", "libexec", "asdf.sh", "internal"}},
	{"MISE_DATA_DIR", ".local/share/mise", []string{"installs", "shims", "plugins"}},
	{"VOLTA_HOME", ".volta", []string{"bin", "tools"}},
	{"SDKMAN_DIR", ".sdkman", []string{"candidates", "libexec"}},
	{"RUSTUP_HOME", ".rustup", []string{"toolchains", "settings.toml"}},
	{"UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", nil},
	{"MIX_HOME", ".mix", []string{"archives", "elixir", "escripts"}},
}

// choices are variables by which managers choose a version.
var choices = []string{"PYENV_VERSION", "RBENV_VERSION", "NODENV_VERSION", "GOENV_VERSION", "RUSTUP_TOOLCHAIN", "RUSTUP_AUTO_INSTALL"}

// at returns where a manager's root is, if there is one.
func (m manager) at() (string, bool) {
	root := os.Getenv(m.variable)
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false
		}
		root = filepath.Join(home, m.root)
	}
	real, there := realPath(root)
	return real, there && filepath.IsAbs(root)
}

// beside are the directories in which programs of a prefix's bin find what they
// are made of.
var beside = []string{"lib", "lib64", "libexec", "include"}

// versionsOf lists what programs in the directories of a PATH need beside
// themselves: the roots of version managers, and libraries of the prefixes that
// the directories belong to. Of the home directory as a prefix it lists nothing.
func versionsOf(path []string) (list []string) {
	for _, m := range managers {
		root, there := m.at()
		switch {
		case !there:
		case m.parts == nil:
			list = append(list, root)
		default:
			for _, part := range m.parts {
				list = append(list, filepath.Join(root, part))
			}
		}
	}
	home, _ := os.UserHomeDir()
	for _, dir := range path {
		prefix := filepath.Dir(filepath.Clean(dir))
		if name := filepath.Base(dir); !filepath.IsAbs(dir) || name != "bin" && name != "shims" || prefix == home || prefix == "/" {
			continue
		}
		for _, name := range beside {
			list = append(list, filepath.Join(prefix, name))
		}
	}
	return list
}

// managersEnv says where the managers' roots are: their programs would look below
// the home directory, which commands have one of their own of.
func managersEnv() (env []string) {
	for _, m := range managers {
		if root, there := m.at(); there {
			env = append(env, m.variable+"="+root)
		}
	}
	for _, name := range choices {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Starts are programs that managers keep versions of and what setups need, and how
// to see that one of them works: not only that it is there.
var Starts = [][]string{
	{"python3", "-c", "import ssl, sqlite3"},
	{"node", "-v"},
	{"npm", "--version"},
	{"cargo", "--version"},
	{"ruby", "-ropenssl", "-e", "1"},
	{"java", "-version"},
	{"go", "version"},
	{"pnpm", "--version"},
	{"yarn", "--version"},
	{"bundle", "--version"},
	{"poetry", "--version"},
	{"uv", "--version"},
	{"mix", "--version"},
}

// hidden returns where those of Starts that are on the PATH really lie, if the
// sandbox does not show that place: a link on the PATH leads commands nowhere. It
// only looks; whether a program works besides is for doctor to try.
func (k *Commands) hidden() (files []string) {
	shown := append(sandbox.System(), k.Readable()...)
	for _, argv := range Starts {
		file, there := onPath(argv[0])
		within := func(dir string) bool { return strings.HasPrefix(file+"/", dir+"/") }
		if there && !slices.ContainsFunc(shown, within) {
			files = append(files, file)
		}
	}
	return files
}

// onPath returns where the program that a name starts really lies, if there is one.
func onPath(name string) (string, bool) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file, there := realPath(filepath.Join(dir, name))
		if !there || !filepath.IsAbs(file) {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, true
		}
	}
	return "", false
}

// SayHidden tells the operator which programs agents' commands will not find.
func (k *Commands) SayHidden(log *slog.Logger) {
	if !k.Sandboxed() {
		return
	}
	for _, file := range k.hidden() {
		log.Warn("a program on the PATH cannot be read in the sandbox, so commands of agents cannot start it; name the directory of its version with --sandbox-read, and see \"loom doctor\"", "program", file)
	}
}
