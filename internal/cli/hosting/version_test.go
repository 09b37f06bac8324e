package hosting

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
)

var built = &debug.BuildInfo{
	GoVersion: "go1.26.1", Main: debug.Module{Path: "github.com/loomrun/loom", Version: "v0.1.0"},
	Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "ed1bb1e"}, {Key: "vcs.time", Value: "2026-11-25T20:00:00Z"}, {Key: "vcs.modified", Value: "true"}},
	Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.2.3+incompatible", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v1.0.1"}},
	},
}

func TestCLI02_TheVersionHasTheFactsOfTheBuild(t *testing.T) {
	for _, tt := range []struct {
		info  *debug.BuildInfo
		wants []string
	}{
		{built, []string{"commit ed1bb1e, and changes that are in no commit\n", "date 2026-11-25T20:00:00Z\n", "module v0.1.0, with 2 others\n"}},
		{nil, []string{"commit not noted in this build\n", "date -\n", "module (devel), with 0 others\n"}},
	} {
		var w bytes.Buffer
		factsOf(tt.info).print(&w)
		for _, want := range tt.wants {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%q is not in\n%s", want, w.String())
			}
		}
	}
	if got := factsOf(built).Modules["example.org/fork"]; got != "v1.0.1" {
		t.Errorf("the module in the place of another has version %q", got)
	}
}

func TestCLI02_TheBillHasEachModuleOnce(t *testing.T) {
	var w bytes.Buffer
	if err := WriteBill(&w, built, "0.1.0"); err != nil {
		t.Fatal(err)
	}
	var got bill
	if err := json.Unmarshal(w.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Spec != "1.6" || got.Metadata.Component.URL != "pkg:golang/github.com/loomrun/loom@v0.1.0" {
		t.Errorf("head: %+v", got)
	}
	var urls []string
	for _, c := range got.Components {
		urls = append(urls, c.URL)
	}
	want := "pkg:golang/std@1.26.1 pkg:golang/example.org/a@v1.2.3+incompatible pkg:golang/example.org/fork@v1.0.1"
	if strings.Join(urls, " ") != want {
		t.Errorf("components %v, want %s", urls, want)
	}
	if h := got.Components[1].Hashes; len(h) != 1 || h[0].Content != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the hash of a: %+v", h)
	}
	var again bytes.Buffer
	if err := WriteBill(&again, built, "0.1.0"); err != nil || again.String() != w.String() {
		t.Errorf("another bill of the same program (%v)", err)
	}
	if err := WriteBill(&w, nil, "0.1.0"); err == nil {
		t.Error("a program without notes has a bill")
	}
}
