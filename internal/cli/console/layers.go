package console

import (
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
)

// WorkspaceLayer is the layer of the directory that a command works in.
const WorkspaceLayer = "workspace"

// UserProcesses is where a user's own processes are.
func UserProcesses() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New("usage/argument", "there is no home directory").Because(err)
	}
	return filepath.Join(home, ".loom", "processes"), nil
}

// Layers returns where processes are looked for, the nearest first: the
// workspace, the user's directory, further paths, the machine's directory, and
// what comes with Loom. What is not there is left out.
func Layers(workspace string) ([]processes.Layer, error) {
	places := [][2]string{
		{WorkspaceLayer, filepath.Join(workspace, "loom-processes")},
		{WorkspaceLayer, filepath.Join(workspace, ".loom", "processes")},
	}
	if dir, err := UserProcesses(); err == nil {
		places = append(places, [2]string{"user", dir})
	}
	for _, dir := range filepath.SplitList(os.Getenv("LOOM_PROCESS_PATH")) {
		places = append(places, [2]string{"path", dir})
	}
	places = append(places, [2]string{"machine", "/etc/loom/processes"})
	var list []processes.Layer
	for _, p := range places {
		root, err := os.OpenRoot(p[1])
		if err != nil {
			if p[0] == "path" && p[1] != "" {
				return nil, fault.New("usage/argument", "no such directory").At("LOOM_PROCESS_PATH").Got(p[1])
			}
			continue
		}
		list = append(list, processes.Layer{Name: p[0], Dir: root.FS(), Shown: p[1]})
	}
	return append(list, processes.BuiltinLayer()), nil
}
