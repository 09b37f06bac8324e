package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/ops/config"
)

// startSchema has a key of each kind that a host is started with.
var startSchema = config.Schema{
	{Name: "model"},
	{Name: "listen"},
	{Name: "no-listen", Kind: config.Switch},
	{Name: "project", Kind: config.List, Keyed: true, Project: true},
	{Name: "check", Kind: config.List, Keyed: true, Project: true},
	{Name: "route-file", Kind: config.List, Keyed: true, Project: true, Loose: true, Path: true},
	{Name: "agents", Kind: config.Whole, Keyed: true},
	{Name: "tier", Keyed: true},
	{Name: "sandbox-read", Kind: config.List, Path: true},
}

func TestCLI02_WhatAHostWasStartedWithIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), config.RememberedName)
	said := append(config.RememberedProject("shop", "/src/a \"shop\"\\", "main"), config.Layer{
		{Key: "model", Values: []string{"openai:gpt-5"}},
		{Key: "no-listen", Values: []string{"true"}},
		{Key: "check", Entry: "shop", Values: []string{"go test ./...", "printf '\t\x7f\u2028'"}},
		{Key: "route-file", Values: []string{"/etc/all.yaml"}},
		{Key: "route-file", Entry: "shop", Values: []string{"/etc/shop.yaml"}},
		{Key: "agents", Entry: "qa-engineer", Values: []string{"2"}},
		{Key: "tier", Entry: "1", Values: []string{"scripted:demo"}},
		{Key: "sandbox-read", Values: []string{"/opt/go", "/opt/node"}},
	}...)
	data, err := startSchema.Render(path, said)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := startSchema.Load(config.Places{Remembered: path}, []string{"LOOM_MODEL=anthropic:opus"})
	if err != nil {
		t.Fatal(err)
	}
	if _, differs := config.Remember(said, c.Remembered); differs {
		t.Errorf("written %v, read %v, from\n%s", said, c.Remembered, data)
	}
	for key, want := range map[string]string{"model": "LOOM_MODEL", "no-listen": path + ":"} {
		if got := c.Get(key)[0].Origin.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
	if got := c.Arguments("project", func(string) bool { return false }); !slices.Equal(got, []string{`shop=/src/a "shop"\@main`}) {
		t.Errorf("projects: %q", got)
	}
}

func TestCLI02_FlagsGivenAnewWin(t *testing.T) {
	listen := func(v string) config.Layer { return config.Layer{{Key: "listen", Values: []string{v}}} }
	closed := config.Layer{{Key: "no-listen", Values: []string{"true"}}}
	agents := func(role, n string) config.Layer {
		return config.Layer{{Key: "agents", Entry: role, Values: []string{n}}}
	}
	for what, tt := range map[string]struct {
		old, given, want config.Layer
		changed          bool
	}{
		"nothing anew":      {listen("a"), nil, listen("a"), false},
		"the same again":    {listen("a"), listen("a"), listen("a"), false},
		"another value":     {listen("a"), listen("b"), listen("b"), true},
		"no port any more":  {listen("a"), closed, closed, true},
		"a port again":      {closed, listen("a"), listen("a"), true},
		"one of a table":    {agents("qa", "1"), agents("em", "2"), append(agents("em", "2"), agents("qa", "1")...), true},
		"moved, no branch":  {config.RememberedProject("shop", "/a", "dev"), config.RememberedProject("shop", "/b", ""), config.RememberedProject("shop", "/b", ""), true},
		"a project besides": {config.RememberedProject("a", "/a", ""), config.RememberedProject("b", "/b", ""), append(config.RememberedProject("b", "/b", ""), config.RememberedProject("a", "/a", "")...), true},
	} {
		got, changed := config.Remember(tt.old, tt.given)
		if _, differs := config.Remember(tt.want, got); differs || len(got) != len(tt.want) || changed != tt.changed {
			t.Errorf("%s: %v, %t; want %v, %t", what, got, changed, tt.want, tt.changed)
		}
	}
}
