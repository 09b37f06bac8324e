package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/base/longtest"
)

const root = "../.."

// read returns a file of docs/deploy.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documents returns the documents of a YAML file as JSON would have them.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, plain(t, doc))
	}
}

// plain returns a value with the types that JSON has.
func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return read.(map[string]any)
}

// schema returns a part of a schema in testdata.
func schema(t *testing.T, file, part string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", file) + part)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at returns what a path leads to, keys and indices.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

// list returns what a path leads to as a list.
func list(v any, path ...any) []any {
	l, _ := at(v, path...).([]any)
	return l
}

// names returns the names in a list of objects.
func names(l []any) []string {
	var all []string
	for _, o := range l {
		if n, ok := at(o, "name").(string); ok {
			all = append(all, n)
		}
	}
	return all
}

// definition is the name of the schema of an object.
func definition(doc map[string]any) string {
	version, _ := doc["apiVersion"].(string)
	group, rest, grouped := strings.Cut(version, "/")
	if !grouped {
		group, rest = "core", version
	}
	return "#/$defs/" + strings.TrimSuffix(group, ".k8s.io") + "." + rest + "." + doc["kind"].(string)
}

func TestOPS03_ManifestsAreWhatKubernetesTakes(t *testing.T) {
	var kinds []string
	for _, doc := range documents(t, read(t, "kubernetes/loom.yaml")) {
		if err := schema(t, "kubernetes.schema.json", definition(doc)).Validate(doc); err != nil {
			t.Errorf("%s %s: %v", doc["kind"], at(doc, "metadata", "name"), err)
		}
		kinds = append(kinds, doc["kind"].(string))
	}
	for _, kind := range []string{"StatefulSet", "Service", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("there is no %s among %v", kind, kinds)
		}
	}
}

// The check can fail: manifests that Kubernetes would refuse are refused.
func TestOPS03_WrongManifestsAreRefused(t *testing.T) {
	longtest.Skip(t)
	text := read(t, "kubernetes/loom.yaml")
	for what, change := range map[string][2]string{
		"a mistyped field":  {"replicas: 3", "replica: 3"},
		"a wrong type":      {"replicas: 3", "replicas: three"},
		"a missing field":   {"  selector:\n    matchLabels: {app.kubernetes.io/name: loom}\n  template:", "  template:"},
		"a mistyped probe":  {"readinessProbe:", "readyProbe:"},
		"a wrong amount":    {"storage: 50Gi", "storage: 50 gigabytes"},
		"a misplaced field": {"      hostUsers: false", "      hostUsers: {no: false}"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		refused := changed == text
		if refused {
			t.Errorf("%s: %q is not in the file", what, change[0])
		}
		for _, doc := range documents(t, changed) {
			refused = refused || schema(t, "kubernetes.schema.json", definition(doc)).Validate(doc) != nil
		}
		if !refused {
			t.Errorf("%s is taken", what)
		}
	}
}

// What one manifest names is there in another.
func TestOPS03_ManifestsFitTogether(t *testing.T) {
	all := map[string]map[string]any{}
	for _, doc := range documents(t, read(t, "kubernetes/loom.yaml")) {
		all[doc["kind"].(string)+"/"+at(doc, "metadata", "name").(string)] = doc
		if at(doc, "metadata", "namespace") != "loom" {
			t.Errorf("%s is in no namespace", doc["kind"])
		}
	}
	set := all["StatefulSet/loom"]
	pod := at(set, "spec", "template", "spec")
	labels := at(set, "spec", "template", "metadata", "labels", "app.kubernetes.io/name")
	hosts := all["Service/"+at(set, "spec", "serviceName").(string)]
	if at(hosts, "spec", "clusterIP") != "None" || at(hosts, "spec", "publishNotReadyAddresses") != true {
		t.Error("hosts that are not ready cannot find each other")
	}
	for name, selector := range map[string]any{
		"set": at(set, "spec", "selector", "matchLabels"), "hosts": at(hosts, "spec", "selector"), "clients": at(all["Service/loom"], "spec", "selector"),
		"budget": at(all["PodDisruptionBudget/loom"], "spec", "selector", "matchLabels"), "policy": at(all["NetworkPolicy/loom"], "spec", "podSelector", "matchLabels"),
	} {
		if at(selector, "app.kubernetes.io/name") != labels || labels == nil {
			t.Errorf("%s selects %v, and pods are %v", name, selector, labels)
		}
	}
	volumes := append(names(list(pod, "volumes")), at(set, "spec", "volumeClaimTemplates", 0, "metadata", "name").(string))
	ports := names(list(pod, "containers", 0, "ports"))
	for _, c := range append(list(pod, "containers"), list(pod, "initContainers")...) {
		for _, m := range names(list(c, "volumeMounts")) {
			if !slices.Contains(volumes, m) {
				t.Errorf("there is no volume %s", m)
			}
		}
		s := at(c, "securityContext")
		if at(s, "allowPrivilegeEscalation") != false || at(s, "readOnlyRootFilesystem") != true || at(s, "capabilities", "drop", 0) != "ALL" || at(s, "privileged") != nil {
			t.Errorf("a container may more than it needs: %v", s)
		}
	}
	for _, service := range []string{"Service/loom", "Service/loom-hosts"} {
		for _, p := range list(all[service], "spec", "ports") {
			if !slices.Contains(ports, at(p, "targetPort").(string)) {
				t.Errorf("%s leads to port %v, which is none of %v", service, at(p, "targetPort"), ports)
			}
		}
	}
	for probe, path := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
		p := at(pod, "containers", 0, probe, "httpGet")
		if at(p, "path") != path || !slices.Contains(ports, at(p, "port").(string)) || at(p, "scheme") != "HTTPS" {
			t.Errorf("%s asks %v", probe, p)
		}
	}
	if at(pod, "securityContext", "runAsNonRoot") != true || at(pod, "hostUsers") != false || at(pod, "hostNetwork") != nil || at(pod, "automountServiceAccountToken") != false {
		t.Error("the pod may more than it needs")
	}
	if all["ServiceAccount/"+at(pod, "serviceAccountName").(string)] == nil || all["ConfigMap/loom"] == nil {
		t.Error("the account or the configuration is not there")
	}
	config, _ := at(all["ConfigMap/loom"], "data", "loom.toml").(string)
	if n := strings.Count(config, ".loom-hosts.loom.svc:6222"); json.Number(itoa(n)) != at(set, "spec", "replicas") {
		t.Errorf("%d routes for %v hosts", n, at(set, "spec", "replicas"))
	}
}

func itoa(n int) string {
	data, _ := json.Marshal(n)
	return string(data)
}

func TestOPS03_TheComposeFileIsWhatItsSpecificationTakes(t *testing.T) {
	text := read(t, "compose.yaml")
	s := schema(t, "compose.schema.json", "")
	doc := documents(t, text)[0]
	if err := s.Validate(doc); err != nil {
		t.Error(err)
	}
	for what, change := range map[string][2]string{
		"a mistyped key": {"hostname: host-1", "host_name: host-1"}, "a wrong type": {"read_only: true", "read_only: [true]"}, "a mistyped check": {"start_period", "start_periods"},
	} {
		if s.Validate(documents(t, strings.Replace(text, change[0], change[1], 1))[0]) == nil {
			t.Errorf("%s is taken", what)
		}
	}
	services, _ := doc["services"].(map[string]any)
	volumes, _ := doc["volumes"].(map[string]any)
	hosts := 0
	for name, service := range services {
		for _, v := range list(service, "volumes") {
			source, _, _ := strings.Cut(v.(string), ":")
			if _, there := volumes[source]; !there && !strings.HasPrefix(source, "./") {
				t.Errorf("%s: there is no volume %s", name, source)
			}
		}
		if at(service, "privileged") != nil || list(service, "ports") != nil {
			t.Errorf("%s is privileged, or open to the network", name)
		}
		if name == "join" {
			continue
		}
		hosts++
		command, _ := json.Marshal(at(service, "command"))
		if at(service, "user") != "65532:65532" || at(service, "cap_drop", 0) != "ALL" || at(service, "hostname") != name ||
			!strings.Contains(string(command), `"--cluster-advertise","`+name+`:6222"`) || !strings.Contains(string(command), `"host-1:6222,host-2:6222,host-3:6222"`) {
			t.Errorf("%s: %v", name, service)
		}
	}
	if hosts != 3 {
		t.Errorf("%d hosts, want 3", hosts)
	}
}

// instructions are those of a container file.
var instructions = []string{"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}

func TestOPS03_TheContainerFileIsSound(t *testing.T) {
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, "Containerfile"), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	last := map[string]string{}
	var from []string
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" {
			continue
		}
		if !slices.Contains(instructions, word) {
			t.Errorf("%s is no instruction", word)
		}
		if word == "FROM" {
			from = append(from, rest)
		}
		last[word] = rest
	}
	for _, f := range from {
		if !regexp.MustCompile(`^docker\.io/library/[a-z]+:[a-z0-9.-]*[a-z0-9](-slim)?( AS [a-z]+)?$`).MatchString(f) || strings.Contains(f, "latest") {
			t.Errorf("FROM %s: want a full name and a version", f)
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	if len(from) != 2 || !strings.Contains(from[0], "golang:"+version) {
		t.Errorf("%v: want one built by Go %s and one that runs", from, version)
	}
	for word, want := range map[string]string{
		"USER": `^[1-9]\d*:[1-9]\d*$`, "HEALTHCHECK": `--start-period=.* CMD \["loom", "health"\]$`, "ENTRYPOINT": `^\["loom"\]$`, "CMD": `^\["up"\]$`, "STOPSIGNAL": "^SIGTERM$",
	} {
		if !regexp.MustCompile(want).MatchString(last[word]) {
			t.Errorf("%s %s, want %s", word, last[word], want)
		}
	}
	if !strings.Contains(text, "CGO_ENABLED=0") || strings.Contains(text, "ADD ") || strings.Contains(text, "sudo") || strings.Contains(text, "| sh") {
		t.Error("want a static program, and nothing fetched but by packages")
	}
}

// settings returns the lines of a unit by section.
func settings(text string) map[string][]string {
	all, section := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		default:
			all[section] = append(all[section], line)
		}
	}
	return all
}

func TestOPS03_TheUnitIsHardened(t *testing.T) {
	all := settings(read(t, "loom.service"))
	if len(all) != 3 || len(all["Unit"]) == 0 || len(all["Install"]) == 0 {
		t.Errorf("sections %v", all)
	}
	for _, want := range []string{
		"User=loom", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "RestrictSUIDSGID=yes",
		"RestrictNamespaces=user mnt pid net ipc uts", "UMask=0077", "StateDirectoryMode=0700", "KillMode=mixed", "LimitNOFILE=65536",
	} {
		if !slices.Contains(all["Service"], want) {
			t.Errorf("%s is not in the unit", want)
		}
	}
	// With these the kernel lets no sandbox have a /proc, or a name of its own.
	for _, line := range all["Service"] {
		name, value, _ := strings.Cut(line, "=")
		if slices.Contains([]string{"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProtectHostname", "ProcSubset"}, name) && value != "no" && value != "default" {
			t.Errorf("%s: no sandbox could be made", line)
		}
	}
}

// Where systemd is, it has the last word.
func TestOPS03_TheUnitIsWhatSystemdTakes(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("NO systemd-analyze ON THIS MACHINE, so systemd was not asked about the unit")
		return
	}
	unit := filepath.Join(t.TempDir(), "loom.service")
	text := strings.Replace(read(t, "loom.service"), "ExecStart=/usr/local/bin/loom", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), "loom.service") {
		t.Errorf("%v:\n%s", err, out)
	}
	wrong := filepath.Join(t.TempDir(), "loom.service")
	if err := os.WriteFile(wrong, []byte(strings.Replace(text, "UMask=", "UMsk=", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.CommandContext(t.Context(), tool, "verify", "--man=no", wrong).CombinedOutput(); !strings.Contains(string(out), "UMsk") {
		t.Errorf("a mistyped setting is taken:\n%s", out)
	}
}
