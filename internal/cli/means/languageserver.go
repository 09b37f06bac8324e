package means

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
)

// fillLanguageServers reads .EXT[,.EXT...]=COMMAND, each before those that are
// asked where nothing is said.
func fillLanguageServers(c *host.Config, given []string) error {
	for _, s := range given {
		names, command, _ := strings.Cut(s, "=")
		server := host.LanguageServer{Extensions: strings.Split(names, ","), Command: strings.Fields(command)}
		bad := slices.ContainsFunc(server.Extensions, func(e string) bool { return len(e) < 2 || e[0] != '.' || strings.ContainsAny(e[1:], "./ ") })
		if bad || len(server.Command) == 0 {
			return fault.New("usage/argument", "not .EXT,...=COMMAND").At("--language-server").Got(s).Want("for example .py=pylsp")
		}
		c.LanguageServers = append(c.LanguageServers, server)
	}
	if len(given) > 0 {
		c.LanguageServers = append(c.LanguageServers, host.LanguageServers()...)
	}
	return nil
}
