package hosting

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/config"
)

// remember keeps what a host that has started was started with, and says what it has
// from earlier starts. That nothing could be kept ends no host.
func (a *Commands) remember(said config.Layer, environ []string) {
	w := console.Prose(a.Err, 0)
	if names := a.RememberedFlags(); len(names) > 0 {
		fmt.Fprintf(w, "as at earlier starts: --%s (\"loom config show\" says what they are)\n", strings.Join(names, ", --"))
	}
	secrets := redact.Of(environ)
	left, err := a.Remember(said, func(v string) bool { return len(secrets.In(v)) > 0 })
	if err != nil {
		fmt.Fprintf(w, "what this host was started with is not remembered: %v\n", fault.From(err))
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "not remembered, give it again at the next start: %s\n", strings.Join(left, ", "))
	}
}
