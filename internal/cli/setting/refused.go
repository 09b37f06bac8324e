package setting

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/ops/config"
)

// refused is what "loom up" refuses of a file whose values are sound each by itself:
// ports that are open to the network without TLS, and keys that others may read.
func refused(layer config.Layer) error {
	said := func(key string) *config.Setting {
		i := slices.IndexFunc(layer, func(s config.Setting) bool { return s.Key == key })
		if i < 0 {
			return nil
		}
		return &layer[i]
	}
	var errs []*fault.Error
	secure := said("tls-cert") != nil || said("insecure-network") != nil && said("insecure-network").Values[0] == "true"
	for _, key := range []string{"listen", "http"} {
		if s := said(key); s != nil && !secure && s.Values[0] != "off" && !certificate.Loopback(s.Values[0]) {
			errs = append(errs, fault.New("config/value", "the port is open to the network without TLS").At(s.Origin.String()).Got(s.Values[0]).
				Want("tls-cert and tls-key; or 127.0.0.1; or insecure-network = true"))
		}
	}
	for _, key := range []string{"key", "tls-key"} {
		s := said(key)
		if s == nil {
			continue
		}
		info, err := os.Stat(s.Values[0])
		switch {
		case errors.Is(err, fs.ErrNotExist) && key == "key": // the start makes it
		case err != nil:
			errs = append(errs, fault.New("config/value", "the key cannot be read").At(s.Origin.String()).Got(s.Values[0]).Because(err))
		case !info.Mode().IsRegular():
			errs = append(errs, fault.New("config/value", "the key is a file, and this is none").At(s.Origin.String()).Got(s.Values[0]))
		case info.Mode().Perm()&0o077 != 0:
			errs = append(errs, fault.New("config/value", "the key can be read by others (mode %04o)", info.Mode().Perm()).At(s.Origin.String()).Got(s.Values[0]).Want("chmod 600 it, and consider it seen"))
		}
	}
	return fault.Join(errs)
}
