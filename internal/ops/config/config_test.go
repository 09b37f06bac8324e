package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/config"
)

// some is a schema with a key of every kind.
var some = config.Schema{
	{Name: "model", Workspace: true},
	{Name: "unsandboxed", Kind: config.Switch},
	{Name: "partitions", Kind: config.Whole, Check: positive},
	{Name: "share", Kind: config.Number},
	{Name: "sandbox-read", Kind: config.List, Path: true},
	{Name: "key", Path: true},
	{Name: "agents", Kind: config.Whole, Keyed: true, Workspace: true},
	{Name: "tier", Keyed: true, Workspace: true},
	{Name: "project", Keyed: true, Project: true},
	{Name: "check", Kind: config.List, Keyed: true, Project: true, Workspace: true},
	{Name: "push", Keyed: true, Project: true, Workspace: true, Foreign: plain},
	{Name: "route-file", Kind: config.List, Keyed: true, Project: true, Loose: true, Path: true, Workspace: true},
	{Name: "secret-files", Keyed: true, Path: true},
}

func positive(_ string, values []string) error {
	if n, err := strconv.Atoi(values[0]); err != nil || n < 1 {
		return fault.New("config/value", "not positive").Got(values[0])
	}
	return nil
}

func plain(v string) error {
	if strings.ContainsAny(v, ":/") {
		return fault.New("config/workspace", "not the name of a remote").Got(v)
	}
	return nil
}

// said writes settings as NAME = VALUE, VALUE (ORIGIN).
func said(l config.Layer) []string {
	var list []string
	for _, s := range l {
		list = append(list, s.Name(some)+" = "+strings.Join(s.Values, ", ")+" ("+s.Origin.String()+")")
	}
	return list
}

func TestOPS02_AFileIsRead(t *testing.T) {
	l, err := some.File("/etc/loom/loom.toml", []byte(`# a comment
model = "openai:gpt-5"
unsandboxed = true
partitions = 1_0
share = 0.5
sandbox-read = ["/opt/go", "tools"]
key = "ceo.nk"
route-file = ["all.yaml"]
agents = {lead = 1, qa-engineer = 3}
tier.1 = "anthropic:large"

[project.shop]
repository = "/src/shop"
branch = "main"
check = ["go test ./...", "go vet ./..."]
push = "origin"
route-file = "shop.yaml"

[project."desk"]
repository = "desk"
`), false)
	want := []string{
		"model = openai:gpt-5 (/etc/loom/loom.toml:2:1)",
		"unsandboxed = true (/etc/loom/loom.toml:3:1)",
		"partitions = 10 (/etc/loom/loom.toml:4:1)",
		"share = 0.5 (/etc/loom/loom.toml:5:1)",
		"sandbox-read = /opt/go, /etc/loom/tools (/etc/loom/loom.toml:6:1)",
		"key = /etc/loom/ceo.nk (/etc/loom/loom.toml:7:1)",
		"route-file = /etc/loom/all.yaml (/etc/loom/loom.toml:8:1)",
		"agents.lead = 1 (/etc/loom/loom.toml:9:11)",
		"agents.qa-engineer = 3 (/etc/loom/loom.toml:9:21)",
		"tier.1 = anthropic:large (/etc/loom/loom.toml:10:6)",
		"project.shop.repository = /src/shop (/etc/loom/loom.toml:13:1)",
		"project.shop.branch = main (/etc/loom/loom.toml:14:1)",
		"project.shop.check = go test ./..., go vet ./... (/etc/loom/loom.toml:15:1)",
		"project.shop.push = origin (/etc/loom/loom.toml:16:1)",
		"project.shop.route-file = /etc/loom/shop.yaml (/etc/loom/loom.toml:17:1)",
		"project.desk.repository = /etc/loom/desk (/etc/loom/loom.toml:20:1)",
	}
	if diff := cmp.Diff(want, said(l)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// messages writes what is wrong as PLACE CODE.
func messages(err error) []string {
	f := fault.From(err)
	if f == nil {
		return nil
	}
	list := []string{f.Where + " " + f.Code}
	for _, m := range f.More {
		list = append(list, m.Where+" "+m.Code)
	}
	return list
}

func TestOPS02_WhatIsWrongIsAllNamedWithItsPlace(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"unknown key", "\nmodle = \"x\"\n", []string{"f:2:1 config/unknown-key"}},
		{"twice", "model = \"x\"\n  model = \"y\"\n", []string{"f:2:3 config/duplicate-key"}},
		{"table twice", "[agents]\nlead = 1\n[agents]\nqa = 1\n", []string{"f:3:2 config/duplicate-key"}},
		{"table after inline", "agents = {lead = 1}\n[agents]\n", []string{"f:2:2 config/duplicate-key"}},
		{"table over a value", "model = \"x\"\n[model.y]\n", []string{"f:2:2 config/duplicate-key"}},
		{"wrong types", "model = 1\nunsandboxed = \"yes\"\npartitions = 1.5\nsandbox-read = \"/opt\"\nagents = 3\n", []string{
			"f:1:1 config/type", "f:2:1 config/type", "f:3:1 config/type", "f:4:1 config/type", "f:5:1 config/type",
		}},
		{"a wrong element", "sandbox-read = [\"/opt\", 3]\n", []string{"f:1:1 config/type"}},
		{"a refused value", "partitions = 0\n", []string{"f:1:1 config/value"}},
		{"a date", "model = 2026-01-02\n", []string{"f:1:1 config/type"}},
		{"list of tables", "[[project]]\nrepository = \"x\"\n", []string{"f:1:3 config/type"}},
		{"no TOML", "model = \"x\"\nmodel == 3\n", []string{"f:2:8 config/syntax"}},
		{"errors before what is no TOML", "modle = 3\n=\n", []string{"f:1:1 config/unknown-key", "f:2:1 config/syntax"}},
		{"a project's key outside", "check = [\"true\"]\n", []string{"f:1:1 config/unknown-key"}},
		{"an outer key in a project", "[project.shop]\nrepository = \"x\"\nmodel = \"x\"\n", []string{"f:3:1 config/unknown-key"}},
		{"a project of which nothing is said", "[project.shop]\n", []string{"f:1:10 config/value"}},
		{"a project that is no table", "[project]\nshop = \"/src/shop\"\n", []string{"f:2:1 config/type"}},
		{"an entry that is no name", "[agents]\n\"a=b\" = 3\n\"\" = 2\n", []string{"f:2:1 config/value", "f:3:1 config/value"}},
		{"a secret", "anthropic-api-key = \"sk-ant-hunter2\"\n", []string{"f:1:1 config/secret"}},
		{"a zero byte", "model = \"a\\u0000b\"\n", []string{"f:1:1 config/value"}},
		{"deep", "[a.b.c.d.e.f.g.h.i]\nx = 1\n", []string{"f:1:2 config/unknown-key", "f:1:18 config/limit"}},
		{"deep by dots", "a.b.c.d.e.f.g.h.i = 1\n", []string{"f:1:17 config/limit"}},
		{"large", "# " + strings.Repeat("x", config.MaxFile) + "\n", []string{"f:1:1 config/limit"}},
		{"not UTF-8", "model = \"\xff\"\n", []string{"f:1:10 config/syntax"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := some.File("f", []byte(tt.text), false)
			if diff := cmp.Diff(tt.want, messages(err)); diff != "" || err != nil && l != nil {
				t.Errorf("%v, %d settings (-want +got):\n%s", err, len(l), diff)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret is echoed: %v", err)
			}
		})
	}
}

func TestOPS02_MistypedKeysAreGuessed(t *testing.T) {
	for text, want := range map[string]string{
		"modle = 1":                   `did you mean "model"?`,
		"sandbox_read = []":           `did you mean "sandbox-read"?`,
		"[project.shop]\nchek = []":   `did you mean "check"?`,
		"[project.shop]\nmodel = 1":   "it stands outside of projects",
		"repository = \"x\"":          "it stands",
		"completely-different = \"\"": `"loom up --help" lists what there is`,
		"openai-api-key = \"\"":       "[secret-files]",
	} {
		if _, err := some.File("f", []byte(text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What a stranger's workspace says can neither widen what the machine allows
// nor lead out of it.
func TestSEC02_AWorkspaceSetsOnlyWhatIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "loom.toml")
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"model = \"openai:gpt-5\"", true},
		{"[agents]\nlead = 2", true},
		{"[project.shop]\nrepository = \".\"\ncheck = [\"true\"]\npush = \"origin\"", true},
		{"[project.shop]\nrepository = \"sub/dir\"\nroute-file = \"routes.yaml\"", true},
		{"unsandboxed = true", false},
		{"sandbox-read = []", false},
		{"key = \"ceo.nk\"", false},
		{"secret-files = {OPENAI_API_KEY = \"key\"}", false},
		{"[project.shop]\nrepository = \"..\"", false},
		{"[project.shop]\nrepository = \"/etc\"", false},
		{"[project.shop]\nrepository = \"out\"", false},
		{"[project.shop]\nrepository = \"out/not/there\"", false},
		{"[project.shop]\npush = \"https://evil.example/x.git\"", false},
		{"route-file = [\"out/passwd\"]", false},
	} {
		_, err := some.File(name, []byte(tt.text), true)
		if (err == nil) != tt.ok || err != nil && fault.Code(err) != "config/workspace" {
			t.Errorf("%s: %v, want it taken: %t", tt.text, err, tt.ok)
		}
		if _, err := some.File(name, []byte(tt.text), false); err != nil {
			t.Errorf("%s in the operator's own: %v", tt.text, err)
		}
	}
}

func TestOPS02_TheEnvironmentIsRead(t *testing.T) {
	l, ignored, err := some.Environment([]string{
		"HOME=/h", "LOOM_MODEL=openai:a", "LOOM_SANDBOX_READ=/a\n/b c\n", "LOOM_AGENTS=lead=1,qa=2", "LOOM_PARTITIONS=",
		"LOOM_PROJECT=shop=/src/shop@main\ndesk=/src/desk", "LOOM_CHECK=shop=go test ./...\nshop=go vet ./...", "LOOM_ROUTE_FILE=all.yaml\nshop=s.yaml",
		"LOOM_MODLE=x", "LOOM_SERVICE_HOST=10.0.0.1",
	})
	want := []string{
		"model = openai:a (LOOM_MODEL)", "sandbox-read = /a, /b c (LOOM_SANDBOX_READ)", "agents.lead = 1 (LOOM_AGENTS)", "agents.qa = 2 (LOOM_AGENTS)",
		"project.shop.project = /src/shop@main (LOOM_PROJECT)", "project.desk.project = /src/desk (LOOM_PROJECT)",
		"project.shop.check = go test ./..., go vet ./... (LOOM_CHECK)", "route-file = all.yaml (LOOM_ROUTE_FILE)", "project.shop.route-file = s.yaml (LOOM_ROUTE_FILE)",
	}
	if diff := cmp.Diff(want, said(l)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"LOOM_MODLE (did you mean LOOM_MODEL?)", "LOOM_SERVICE_HOST"}, ignored); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
	_, _, err = some.Environment([]string{"LOOM_PARTITIONS=0", "LOOM_TIER=nothing"})
	if diff := cmp.Diff([]string{"LOOM_PARTITIONS config/value", "LOOM_TIER config/value"}, messages(err)); diff != "" {
		t.Errorf("bad values (-want +got):\n%s", diff)
	}
}

// write puts files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOPS02_WorkspaceOverUserOverMachine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"machine": "model = \"m\"\npartitions = 1\nsandbox-read = [\"/a\"]\n[agents]\nlead = 1\nqa = 1\n[project.shop]\nrepository = \"/m\"\nbranch = \"b\"\npush = \"origin\"\n[project.desk]\nrepository = \"/d\"\n",
		"user":    "model = \"u\"\nsandbox-read = [\"/b\"]\n[agents]\nqa = 2\n",
		"work":    "model = \"w\"\n[agents]\ncoder = 3\n[project.shop]\ncheck = [\"true\"]\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	p := config.Places{Machine: at("machine"), User: at("user"), Workspace: at("work")}
	c, err := some.Load(p, []string{"LOOM_AGENTS=lead=9"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range c.Settings {
		got[s.Name(some)] = strings.Join(s.Values, ",") + " " + filepath.Base(s.Origin.Name)
	}
	want := map[string]string{
		"model": "w work", "partitions": "1 machine", "sandbox-read": "/b user", "agents.lead": "9 LOOM_AGENTS", "agents.qa": "2 user", "agents.coder": "3 work",
		"project.shop.repository": "/m machine", "project.shop.branch": "b machine", "project.shop.push": "origin machine", "project.shop.check": "true work",
		"project.desk.repository": "/d machine",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	none := func(string) bool { return false }
	if diff := cmp.Diff([]string{"desk=/d", "shop=/m@b"}, c.Arguments("project", none)); diff != "" {
		t.Errorf("--project (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"coder=3", "qa=2"}, c.Arguments("agents", func(e string) bool { return e == "lead" })); diff != "" {
		t.Errorf("--agents (-want +got):\n%s", diff)
	}
	c, err = some.Load(p, []string{"LOOM_PROJECT=shop=/env"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shop=/env", "desk=/d"}, c.Arguments("project", none)); diff != "" {
		t.Errorf("--project from the environment (-want +got):\n%s", diff)
	}
}

func TestOPS02_FilesThatCannotBeTrusted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"open": "", "bad": "x = 1\n", "worse": "y = 1\n", "directory/file": ""})
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Chmod(at("open"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		places config.Places
		want   []string
	}{
		{config.Places{Machine: at("absent"), User: at("absent too")}, nil},
		{config.Places{Only: at("absent")}, []string{at("absent") + " config/file"}},
		{config.Places{User: at("directory")}, []string{at("directory") + " config/file"}},
		{config.Places{User: at("open")}, []string{at("open") + " config/permissions"}},
		{config.Places{Machine: at("bad"), User: at("worse")}, []string{at("bad") + ":1:1 config/unknown-key", at("worse") + ":1:1 config/unknown-key"}},
		{config.Places{Machine: at("bad"), User: at("worse"), Only: at("directory/file")}, nil},
	} {
		_, err := some.Load(tt.places, nil)
		if diff := cmp.Diff(tt.want, messages(err)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.places, diff)
		}
	}
	if _, err := config.Secret(at("open")); fault.Code(err) != "config/permissions" {
		t.Errorf("a secret that everybody can write: %v", err)
	}
}

func TestOPS02_TheWorkspaceEndsWhereItsRepositoryDoes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"loom.toml": "", "repo/.git/HEAD": "", "repo/sub/x": "", "own/loom.toml": "", "own/.git/HEAD": "", "own/deep/er/x": ""})
	for from, want := range map[string]string{"repo/sub": "", "repo": "", "own/deep/er": "own/loom.toml", "own": "own/loom.toml"} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := config.DefaultPlaces(filepath.Join(dir, from)).Workspace; got != want {
			t.Errorf("from %s: %q, want %q", from, got, want)
		}
	}
}

func TestSEC02_WhatIsShownHasNoPassword(t *testing.T) {
	for in, want := range map[string]string{
		"https://bob:hunter2@example.com/x": "https://(hidden)@example.com/x",
		"nats://token@a:4222,nats://b:4222": "nats://(hidden)@a:4222,nats://b:4222",
		"git@example.com:x":                 "git@example.com:x",
		"openai:gpt-5":                      "openai:gpt-5",
	} {
		if got := config.Shown(in); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

// Some editors begin a file with a byte-order mark, which says nothing.
func TestOPS02_AByteOrderMarkIsPassedOver(t *testing.T) {
	l, err := some.File("/etc/loom/loom.toml", []byte("\xef\xbb\xbfmodel = \"openai:gpt-5\"\n"), false)
	if err != nil || len(l) != 1 {
		t.Errorf("%v, %v, want the model", l, err)
	}
	if _, err := some.File("/etc/loom/loom.toml", []byte("\xef\xbb\xbfmodell = \"openai:gpt-5\"\n"), false); err == nil || !strings.Contains(err.Error(), "loom.toml:1:1") {
		t.Errorf("%v, want a place in the first line", err)
	}
}
