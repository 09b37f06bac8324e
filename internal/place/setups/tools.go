package setups

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Machine returns facts of this machine that a setup's result depends on: the
// system, each of the programs that is on the PATH, by its file, and by which of
// their versions the managers of versions go.
func Machine(programs []string) []string {
	facts := []string{runtime.GOOS + "/" + runtime.GOARCH, factOf("/etc/os-release")}
	for _, name := range programs {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(dir) {
				facts = append(facts, name+" "+factOf(path))
				break
			}
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return facts
	}
	for _, name := range choices {
		facts = append(facts, factOf(filepath.Join(home, name)))
	}
	return facts
}

// choices are where managers of versions keep which one is the user's.
var choices = []string{
	".tool-versions", ".config/mise/config.toml", ".nvm/alias/default", ".nodenv/version", ".pyenv/version", ".rbenv/version",
	".rustup/settings.toml", ".volta/tools/user/platform.json",
}

// factOf says which file a path leads to, and which content that has by its size and
// the time it was written.
func factOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path + " none"
	}
	info, err := os.Stat(real)
	if err != nil {
		return path + " none"
	}
	return fmt.Sprintf("%s %d %d", real, info.Size(), info.ModTime().UnixNano())
}
