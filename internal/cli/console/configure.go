package console

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/proto/subject"
	"github.com/loomrun/loom/roles"
)

// kept is a secret, of which nothing is shown.
type kept struct {
	Name string `json:"name"`
	Set  bool   `json:"set"`
	From string `json:"from,omitempty"`
	Why  string `json:"why,omitempty"` // it cannot be read
	Err  error
}

// State is what is known of a secret.
func (k kept) State() string {
	switch {
	case k.Why != "":
		return k.Why
	case k.Set:
		return "set"
	}
	return "not set"
}

// SecretNames are the secrets that Loom looks for.
var SecretNames = []string{"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "BRAVE_API_KEY", "KAGI_API_KEY", "ALPHA_VANTAGE_API_KEY", "FRED_API_KEY", "OPENALEX_API_KEY"}

// Secrets tells which secrets are there.
func (a *Console) Secrets() []kept {
	names := slices.Clone(SecretNames)
	for _, s := range a.Config.Get(SecretFiles) {
		if !slices.Contains(names, s.Entry) {
			names = append(names, s.Entry)
		}
	}
	var list []kept
	for _, name := range names {
		value, from, err := a.secret(name)
		k := kept{Name: name, Set: value != "", From: from}
		if err != nil {
			k.Why, k.Err = "cannot be read: "+err.Error(), err
		}
		list = append(list, k)
	}
	return list
}

// configured are the commands that take all that a host is configured with.
// The others take what every command has, such as --data, and no word of a
// workspace's.
var configured = []string{"loom up", commandRun, "loom doctor", "loom config show", "loom role list", "loom role show"}

// working are the commands that ask who can work: of what the host of this data
// directory was started with, they take the roles.
var working = []string{"loom workflow apply", "loom workflow validate", "loom process validate", "loom process show", "loom role validate", "loom replay"}

// unconfigured are the commands that read no configuration, so that a mistake
// in one cannot keep them from working.
var unconfigured = []string{"demo", "help", "completion", "version", "config validate"}

// Unset are flags that cannot be configured: they say how this command line is
// read and answered.
var Unset = []string{"help", "json", "config"}

// SecretFiles is the key that is no flag: files of secrets, by the variables
// that hold them otherwise.
const SecretFiles = "secret-files"

// Configure gives flags that were not given what files and environment say.
func (a *Console) Configure(cmd *cobra.Command) error {
	path := cmd.CommandPath()
	a.flags = cmd.Flags()
	if slices.ContainsFunc(unconfigured, func(c string) bool { return path == "loom "+c }) {
		_ = a.defaults() // these need none
		return nil
	}
	whole := slices.Contains(configured, path)
	schema := a.Settings()
	places := a.places()
	if path == commandRun {
		places = a.PlacesOf(cmd.Flags().Lookup("workspace").Value.String())
	}
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, ProcessPath+"=") })
	if !whole {
		places.Workspace = ""
		environ = slices.DeleteFunc(environ, func(e string) bool { return !everywhere(cmd, e) })
	}
	c, err := schema.Load(places, environ)
	if err != nil && path == "loom doctor" { // it tells, and looks at the rest
		a.Mistakes, c, err = err, &config.Config{Schema: schema}, nil
	}
	if err != nil {
		return err
	}
	a.Given = given(cmd.Flags())
	if path == commandRun {
		a.here = projectIn(c, cmd.Flags().Lookup("workspace").Value.String())
	} else if (whole || slices.Contains(working, path)) && a.Mistakes == nil {
		if places.Remembered, err = a.rememberedIn(cmd.Flags(), c); err != nil {
			return err
		}
		with, err := schema.Load(places, environ)
		switch {
		case err == nil:
			c = with
		case path == "loom doctor":
			a.Mistakes = err
		default:
			return err
		}
	}
	a.Config = c
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && (whole || cmd.Root().PersistentFlags().Lookup(f.Name) != nil) {
			err = a.settle(cmd.Flags(), f)
		}
	})
	if none := a.defaults(); err == nil && a.Creds == "" && !strings.HasPrefix(path, "loom role ") {
		err = none // a host elsewhere needs no directory here, nor does who only looks at files
	}
	if err == nil && (path == "loom up" || path == commandRun) {
		err = a.checkSecrets()
	}
	if err == nil {
		err = a.readRoles()
	}
	return err
}

// readRoles reads the roles of files, all that is wrong with them.
func (a *Console) readRoles() (err error) {
	if a.RolesDir == "" {
		return nil
	}
	if info, err := os.Stat(a.RolesDir); err != nil || !info.IsDir() {
		return fault.New("usage/argument", "not a directory").At("--roles").Got(a.RolesDir)
	}
	a.Known, err = roles.Load(roles.Builtin(), os.DirFS(a.RolesDir), ".")
	return err
}

// RoleSet is who can work: the built-in roles, and those of files.
func (a *Console) RoleSet() *roles.Set {
	if a.Known != nil {
		return a.Known
	}
	return roles.Builtin()
}

// checkSecrets refuses a secret whose file cannot be read: to go on as if there
// were none would be told later, and as something else.
func (a *Console) checkSecrets() error {
	var errs []*fault.Error
	for _, k := range a.Secrets() {
		if k.Err != nil {
			e := *fault.From(k.Err)
			errs = append(errs, e.At(k.From+": "+e.Where))
		}
	}
	return fault.Join(errs)
}

// everywhere reports whether a variable, NAME=VALUE, sets what every command
// has.
func everywhere(cmd *cobra.Command, variable string) (found bool) {
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		found = found || strings.HasPrefix(variable, config.Variable(f.Name)+"=")
	})
	return found
}

// places says which files are read.
func (a *Console) places() config.Places { return a.PlacesOf(".") }

// PlacesOf is places for another directory than this one.
func (a *Console) PlacesOf(dir string) config.Places {
	if only := a.ConfigFile; only != "" {
		return config.Places{Only: only}
	}
	if only := os.Getenv(config.Variable("config")); only != "" {
		return config.Places{Only: only}
	}
	return config.DefaultPlaces(dir)
}

// given lists what flags were given on the command line: the entries of those
// that are tables, "" for others.
func given(flags *pflag.FlagSet) map[string][]string {
	all := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		all[f.Name] = []string{""}
		for _, v := range Slice(flags, f) {
			if name, _, ok := strings.Cut(v, "="); ok {
				all[f.Name] = append(all[f.Name], name)
			}
		}
	})
	return all
}

// Slice returns what a flag of several values has.
func Slice(flags *pflag.FlagSet, f *pflag.Flag) []string {
	if s, ok := f.Value.(pflag.SliceValue); ok {
		return s.GetSlice()
	}
	var list []string
	if numbers, err := flags.GetStringToInt(f.Name); err == nil {
		for name, n := range numbers {
			list = append(list, name+"="+strconv.Itoa(n))
		}
	}
	if words, err := flags.GetStringToString(f.Name); err == nil {
		for name, w := range words {
			list = append(list, name+"="+w)
		}
	}
	slices.Sort(list)
	return list
}

// settle gives a flag what is configured and was not given.
func (a *Console) settle(flags *pflag.FlagSet, f *pflag.Flag) error {
	entries, was := a.Given[f.Name]
	if was && Slice(flags, f) == nil || a.Overruled(f.Name) || f.Name == ProcessTableKey { // a table, and no flag of a host's
		return nil
	}
	args := a.Config.Arguments(f.Name, func(entry string) bool {
		return slices.Contains(entries, entry) && (entry != "" || was)
	})
	if a.ofOnlyProject(f) {
		if was {
			return nil
		}
		args = a.valuesHere(f.Name)
	}
	if len(args) == 0 {
		return nil
	}
	if s, ok := f.Value.(pflag.SliceValue); ok {
		if was {
			args = append(args, s.GetSlice()...)
		}
		f.Changed = true
		return s.Replace(args)
	}
	for _, arg := range args {
		if err := flags.Set(f.Name, arg); err != nil {
			return err
		}
	}
	return nil
}

// Overruled reports whether a switch is not to be set because a stronger place
// says otherwise by another flag.
func (a *Console) Overruled(name string) bool {
	if name != "no-listen" {
		return false
	}
	_, was := a.Given["listen"]
	switches, listen := a.Config.Get(name), a.Config.Get("listen")
	return was || len(listen) > 0 && len(switches) > 0 &&
		stronger(listen[0].Origin.From, switches[0].Origin.From)
}

// stronger reports whether a goes over b.
func stronger(a, b config.From) bool {
	order := []config.From{config.FromFile, config.FromRemembered, config.FromEnvironment}
	return slices.Index(order, a) > slices.Index(order, b)
}

// Settings lists all that can be configured: every flag of "up", and what every
// command has.
func (a *Console) Settings() config.Schema {
	root := a.Tree()
	up, _, err := root.Find([]string{"up"})
	if err != nil {
		panic("there is no up: " + err.Error())
	}
	s := config.Schema{{Name: SecretFiles, Unflagged: true, Keyed: true, Path: true, Check: checkSecret}, {Name: ProcessTableKey, Keyed: true, Workspace: true, Check: checkProcess}, providerKey()}
	add := func(f *pflag.Flag) {
		if !slices.Contains(Unset, f.Name) {
			s = append(s, KeyOf(f))
		}
	}
	up.LocalNonPersistentFlags().VisitAll(add)
	root.PersistentFlags().VisitAll(add)
	return s
}

// KeyOf describes a flag as a key. What it takes is read from its type and from
// the word for its value: NAME=... belongs to a project, ROLE=... is a table of
// roles, FILE is a path.
func KeyOf(f *pflag.Flag) config.Key {
	takes, _ := pflag.UnquoteUsage(f)
	k := config.Key{Name: f.Name, Kind: kindOf(f), Workspace: slices.Contains(ofWorkspaces, f.Name)}
	head, tail, table := strings.Cut(takes, "=")
	if table && (k.Kind == config.List || strings.HasPrefix(f.Value.Type(), "stringTo")) {
		k.Keyed = true
		k.Project = strings.Trim(head, "[]") == "NAME"
		k.Loose = strings.HasPrefix(head, "[")
		if slices.Contains(once, f.Name) {
			k.Kind = config.Text
		}
	} else {
		tail = takes
	}
	switch strings.Trim(tail, "[]") {
	case "FILE", "DIR", "PATH":
		k.Path = f.Name != config.ProjectKey && !slices.Contains(ofCheckouts, f.Name)
	}
	k.Check = checkBy(f, k)
	if f.Name == "push" {
		k.Foreign = checkRemoteName
	}
	return k
}

func kindOf(f *pflag.Flag) config.Kind {
	switch t := f.Value.Type(); {
	case t == "bool":
		return config.Switch
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"), t == "count", t == "stringToInt":
		return config.Whole
	case strings.HasPrefix(t, "float"):
		return config.Number
	case t == "stringArray", t == "stringSlice":
		return config.List
	}
	return config.Text
}

// ofCheckouts are the keys whose paths lie in each checkout of a project.
var ofCheckouts = []string{"setup-reads", "setup-makes"}

// ofWorkspaces are the keys that the file of a workspace may set. Anybody may
// have written it, so it is a short list of what concerns the work in it; a new
// flag is not in it until somebody has thought about that.
var ofWorkspaces = []string{
	config.ProjectKey, "check", "setup", "setup-reads", "setup-makes", "process-for", "push", "route-file", "model", "tier", "role-model", "agents", "grace", "crashes", "lock-lease", "hook-timeout", "train",
}

// once are tables with one value for each entry; others may have several.
var once = []string{"tier", "role-model"}

// addresses are keys of addresses to listen on.
var addresses = []string{"listen", "http"}

// checkBy refuses what the flag itself would refuse, or the host at its start.
func checkBy(f *pflag.Flag, k config.Key) func(string, []string) error {
	return func(entry string, values []string) error {
		if err := checkEntry(k, entry); err != nil {
			return err
		}
		if k.Name == "patch" {
			_, err := patchscan.ParsePolicy(values)
			return err
		}
		if k.Name == "setup-registry" {
			if err := isolation.CheckNames(values); err != nil {
				return err
			}
		}
		if slices.Contains(addresses, k.Name) && !(k.Name == "http" && values[0] == "off") {
			if _, _, err := broker.Address(values[0]); err != nil {
				return fault.New("config/value", "not an address to listen on").Got(config.Shown(values[0])).Want("HOST:PORT, with a port up to 65535")
			}
		}
		for _, v := range values {
			arg := v
			if entry != "" {
				arg = entry + "=" + v
			}
			if err := f.Value.Set(arg); err != nil {
				return fault.New("config/value", "not a value of %q", f.Name).Got(config.Shown(v)).Want("%s", spelled(f))
			}
		}
		return nil
	}
}

// checkEntry refuses names of entries that name nothing.
func checkEntry(k config.Key, entry string) error {
	switch {
	case entry == "":
		return nil
	case k.Project:
		_, err := subject.Parse("project", entry)
		return err
	case k.Name == "tier":
		if n, err := strconv.Atoi(entry); err != nil || n < 1 || n > 3 {
			return fault.New("config/value", "not a tier").Got(entry).Want("1 to 3")
		}
	case k.Name == "agents" || k.Name == "role-model":
		set := roles.Builtin()
		r, known := set.Get(entry)
		if own := !known && roles.IsName(entry) && suggest.Nearest(entry, set.Names()) == ""; own {
			return nil // it may be in a file; whoever starts a host finds out
		}
		if !known || r.Human {
			return fault.New("role/unknown", "no role of agents").Got(entry).Want("%s", suggest.Among(entry, set.Names()))
		}
	}
	return nil
}

// checkRemoteName refuses an address where the name of a remote should stand.
func checkRemoteName(remote string) error {
	if strings.ContainsAny(remote, ":/\\") || strings.HasPrefix(remote, ".") || strings.HasPrefix(remote, "-") {
		return fault.New("config/workspace", "a workspace names a remote of the repository, and no address").Got(config.Shown(remote)).
			Want("add it with git remote add, or set the address in your own configuration")
	}
	return nil
}

func checkSecret(entry string, _ []string) error {
	if entry == "" || strings.Trim(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return fault.New("config/value", "not the name of a variable").Got(entry).Want("as in ANTHROPIC_API_KEY = \"PATH\"")
	}
	return nil
}

// Env returns a variable of the environment; a secret that is not in it is read
// from the file that NAME_FILE or the configuration names. One that cannot be
// read is none: "loom doctor" says why.
func (a *Console) Env(name string) string {
	value, _, _ := a.secret(name)
	return value
}

// Confidential are the variables that may hold secrets, those of files included.
func (a *Console) Confidential() []string {
	list := os.Environ()
	names := slices.Clone(SecretNames)
	if a.Config != nil { // the demo has none
		for _, s := range a.Config.Get(SecretFiles) {
			names = append(names, s.Entry)
		}
	}
	for _, name := range names {
		if value := a.Env(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// secret returns a variable and what it is from, "" for nothing.
func (a *Console) secret(name string) (value, from string, err error) {
	if v := os.Getenv(name); v != "" {
		return v, name, nil
	}
	file, from := a.secretFrom(name)
	if file == "" {
		return "", "", nil
	}
	value, err = config.Secret(file)
	return value, from, err
}

// secretFrom returns the file that a secret stands in, and what names it.
func (a *Console) secretFrom(name string) (file, from string) {
	if file := os.Getenv(name + "_FILE"); file != "" || a.Config == nil {
		return file, name + "_FILE"
	}
	for _, s := range a.Config.Get(SecretFiles) {
		if s.Entry == name {
			return s.Values[0], s.Origin.String()
		}
	}
	return "", ""
}

// SecretFile returns the file that a secret is read from, "" for the
// environment.
func (a *Console) SecretFile(name string) string {
	if os.Getenv(name) != "" {
		return ""
	}
	file, _ := a.secretFrom(name)
	return file
}
