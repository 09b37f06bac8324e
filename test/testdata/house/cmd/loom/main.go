package main

import (
	"os"
	"os/exec"

	_ "github.com/loomrun/loom/internal/host"
	_ "github.com/loomrun/loom/internal/place/git"
)

func main() {
	os.StartProcess("true", nil, nil)
	exec.Command("true")
}
