// Command loom is not for Windows: agents' commands need the sandbox of Linux. What
// is built there says so, and where Loom does run.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprint(os.Stderr, `loom: Loom runs on Linux, and on Windows in WSL 2, which is Linux:

  wsl --install                    once, in a terminal as administrator; then restart
  wsl                              a Linux terminal; all that follows goes there
  sudo apt install git
  sudo dpkg -i loom_*_amd64.deb    from the release, or: go install github.com/loomrun/loom/cmd/loom@latest
  loom demo

Keep repositories in the file system of Linux (~/src), not under /mnt/c: there
git is slow, and files have no modes.
`)
	os.Exit(6) // as where the sandbox is not available
}
