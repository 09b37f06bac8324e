package identity

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// Credentials are what an identity connects with: a file of mode 0600 whose
// first line is an nkey seed, as NATS clients read it, with what Loom's own
// clients need in comments, and the authority of the host's certificate in PEM.
type Credentials struct {
	Name string
	Kind Kind
	// Deployment is the id of the deployment that made them.
	Deployment string
	// URL is where a host listens; empty if that was not known.
	URL string
	Secrets
	// Authority is who signed the hosts' certificates, in PEM; empty when the
	// system's own are meant.
	Authority []byte
}

const maxCredentials = 64 << 10

// Encode returns the file.
func (c Credentials) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n# Loom credentials: whoever can read this file is %s %q.\n", c.Seed, c.Kind, c.Name)
	for _, f := range c.fields() {
		if *f.value != "" {
			fmt.Fprintf(&b, "# %s: %s\n", f.name, *f.value)
		}
	}
	if c.Control != nil {
		fmt.Fprintf(&b, "# control: %s\n", c.Control)
	}
	if len(c.Authority) > 0 {
		fmt.Fprintf(&b, "%s\n", bytes.TrimSpace(c.Authority))
	}
	return b.Bytes()
}

type field struct {
	name  string
	value *string
}

func (c *Credentials) fields() []field {
	return []field{{"name", &c.Name}, {"kind", (*string)(&c.Kind)}, {"deployment", &c.Deployment}, {"url", &c.URL}}
}

// Write puts the credentials in a file that must not be there yet, 0600.
func (c Credentials) Write(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return fault.New("data/permissions", "the file is there already").At(path).Want("name another with --out, or remove it")
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = privatefile.Replace(path, c.Encode())
	}
	if err != nil {
		return fault.New("data/permissions", "the credentials cannot be written").At(path).Because(err)
	}
	return nil
}

// ReadCredentials reads a credentials file. It returns data/permissions for one
// that is absent or that others can read, and identity/file for one that is no
// such file.
func ReadCredentials(path string) (Credentials, error) {
	info, err := privatefile.Guarded("the file of credentials", path, "\"loom auth user rotate\" them")
	if err != nil {
		return Credentials{}, err
	}
	if info.Size() > maxCredentials {
		return Credentials{}, fault.New("identity/file", "not a credentials file").At(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, fault.New("data/permissions", "the credentials cannot be read").At(path).Because(err)
	}
	c, err := Decode(data)
	if err != nil {
		return Credentials{}, fault.From(err).At(path)
	}
	return c, nil
}

// Decode reads what Encode has written.
func Decode(data []byte) (Credentials, error) {
	var c Credentials
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		name, value, isField := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
		switch {
		case strings.HasPrefix(line, "SU") && c.Seed == nil:
			c.Seed = []byte(line)
		case strings.HasPrefix(line, "-----BEGIN CERTIFICATE"):
			_, after, _ := bytes.Cut(data, []byte("-----BEGIN CERTIFICATE"))
			c.Authority = append([]byte("-----BEGIN CERTIFICATE"), after...)
			return c, c.check()
		case strings.HasPrefix(line, "# ") && isField:
			c.set(name, value)
		}
	}
	return c, c.check()
}

func (c *Credentials) set(name, value string) {
	if name == "control" {
		c.Control = []byte(value)
	}
	for _, f := range c.fields() {
		if f.name == name {
			*f.value = value
		}
	}
}

// check returns identity/file for credentials that nobody could use.
func (c Credentials) check() error {
	sound := func(seed []byte) bool {
		pair, err := nkeys.FromSeed(seed)
		if err != nil {
			return false
		}
		public, err := pair.PublicKey()
		return err == nil && nkeys.IsValidPublicUserKey(public)
	}
	switch {
	case !sound(c.Seed):
		return fault.New("identity/file", "the credentials hold no user's nkey seed")
	case c.Name == "" || c.Kind == "":
		return fault.New("identity/file", "the credentials do not say whose they are").Want("use a file that \"loom auth user add\" has made")
	case c.Kind == CEO && !sound(c.Control):
		return fault.New("identity/file", "the credentials hold no way to the CEO's account")
	}
	return nil
}
