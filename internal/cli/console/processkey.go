package console

import (
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// ProcessTableKey names, in a configuration, the process that is taken where none is
// named: [process] default = "NAME". It is no flag of a host's.
const (
	ProcessTableKey = "process"
	ProcessDefault  = "default"
	ProcessPath     = "LOOM_PROCESS_PATH" // no setting: it stands in the environment alone
)

func checkProcess(entry string, values []string) error {
	if entry != ProcessDefault {
		return fault.New("config/unknown-key", "nothing reads this key").Got(entry).
			Want("%s = \"NAME\"; directories to look in stand in %s", ProcessDefault, ProcessPath)
	}
	if values[0] == "" {
		return nil
	}
	_, err := subject.Parse("process", values[0])
	return err
}
