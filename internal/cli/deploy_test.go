package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/hosting"
	"github.com/loomrun/loom/internal/ops/config"
)

// deployed returns the files in docs/deploy by name.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"README.md", "loom.toml", "loom.service", "Containerfile", "compose.yaml", "kubernetes/loom.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../docs/deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

// composed is what a compose file and a manifest say of commands.
type composed struct {
	Kind     string
	Data     map[string]string
	Services map[string]struct {
		Command     []string
		Entrypoint  []string
		Healthcheck struct{ Test []string }
	}
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct{ Args []string }
			}
		}
	}
}

// decoded returns the documents of a YAML file.
func decoded(t *testing.T, text string) []composed {
	t.Helper()
	var all []composed
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var c composed
		if err := yaml.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// lines returns all command lines of loom in the files, by where they are from.
func lines(t *testing.T) map[string][]string {
	t.Helper()
	files, all := deployed(t), map[string][]string{}
	add := func(from string, args ...string) { all[from+": "+strings.Join(args, " ")] = args }
	for _, m := range regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/loom (.*)$`).FindAllStringSubmatch(files["loom.service"], -1) {
		add("loom.service", strings.Fields(m[1])...)
	}
	for _, m := range regexp.MustCompile(`(?m)(?:^CMD| CMD) (\[.*\])$`).FindAllStringSubmatch(files["Containerfile"], -1) {
		var args []string
		if err := json.Unmarshal([]byte(m[1]), &args); err != nil {
			t.Fatal(err)
		}
		add("Containerfile", slices.DeleteFunc(args, func(a string) bool { return a == "loom" })...)
	}
	for _, c := range decoded(t, files["compose.yaml"]) {
		for name, s := range c.Services {
			if len(s.Entrypoint) == 0 {
				add("compose.yaml, "+name, s.Command...)
			}
			if len(s.Healthcheck.Test) > 2 {
				add("compose.yaml, check of "+name, s.Healthcheck.Test[2:]...)
			}
		}
	}
	for _, c := range decoded(t, files["kubernetes/loom.yaml"]) {
		for _, container := range c.Spec.Template.Spec.Containers {
			add("kubernetes", container.Args...)
		}
	}
	for name, text := range files {
		for _, m := range regexp.MustCompile("(?m)(?:^# +|exec host-1 |`)loom ((?:cluster|config|doctor|auth|status|health|up)[^`\n#\"]*)").FindAllStringSubmatch(text, -1) {
			words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(strings.SplitN(m[1], "  ", 2)[0]))
			add(name+", in words", words...)
		}
	}
	return all
}

// Deployment files use commands and flags that there are.
func TestOPS03_DeploymentsUseFlagsThatExist(t *testing.T) {
	all := lines(t)
	if len(all) < 10 {
		t.Errorf("%d command lines, want them all", len(all))
	}
	for from, args := range all {
		command, rest, err := Tree().Find(args)
		if err != nil || !command.HasParent() {
			t.Errorf("%s: no such command: %v", from, err)
			continue
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
	if _, rest, _ := Tree().Find([]string{"up", "--jion", "x"}); hosting.New(&console.Console{}).Up().ParseFlags(rest) == nil {
		t.Error("a mistyped flag is taken")
	}
}

// The configurations in them are valid, and their variables set something.
func TestOPS03_DeploymentsAreConfiguredRight(t *testing.T) {
	files := deployed(t)
	texts := map[string]string{"loom.toml": files["loom.toml"]}
	for _, c := range decoded(t, files["kubernetes/loom.yaml"]) {
		if text := c.Data["loom.toml"]; c.Kind == "ConfigMap" {
			texts["kubernetes/loom.yaml"] = text
		}
	}
	if len(texts) != 2 {
		t.Errorf("%d configurations, want 2", len(texts))
	}
	for name, text := range texts {
		if l, err := (&console.Console{Tree: Tree}).Settings().File("/etc/loom/loom.toml", []byte(text), false); err != nil || len(l) < 5 {
			t.Errorf("%s: %d settings, %v", name, len(l), err)
		}
	}
	var known []string
	for _, k := range (&console.Console{Tree: Tree}).Settings() {
		known = append(known, config.Variable(k.Name))
	}
	known = append(known, config.Variable("config"))
	for name, text := range files {
		for _, m := range regexp.MustCompile(`\bLOOM_[A-Z_]*[A-Z]\b`).FindAllString(text, -1) {
			if !slices.Contains(known, m) {
				t.Errorf("%s: %s sets nothing", name, m)
			}
		}
	}
}
