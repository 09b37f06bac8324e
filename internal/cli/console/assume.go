package console

import (
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/config"
)

// Assume has the console, and the flags of a host, be as settings say and nothing else.
func (a *Console) Assume(settings config.Layer, host *pflag.FlagSet) error {
	a.Config, a.Given, a.Known, a.here = &config.Config{Settings: settings}, nil, nil, ""
	for key, into := range map[string]*string{"data": &a.Data, "roles": &a.RolesDir, "creds": &a.Creds, "nats": &a.URL} {
		*into = ""
		for _, s := range a.Config.Get(key) {
			*into = s.Values[0]
		}
	}
	errs := fault.All(a.defaults())
	host.VisitAll(func(f *pflag.Flag) { errs = append(errs, fault.All(a.settle(host, f))...) })
	return fault.Join(append(append(errs, fault.All(a.checkSecrets())...), fault.All(a.readRoles())...))
}
