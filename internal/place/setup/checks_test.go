package setup_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loomrun/loom/internal/place/setup"
)

func TestCLI02_LanguagesAndChecksAreWhatTheFilesSay(t *testing.T) {
	for what, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":             {nil, ""},
		"go":                  {map[string]string{"go.mod": "module a"}, "Go: go vet ./... && go test ./..."},
		"npm":                 {map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`}, "JavaScript: npm test"},
		"npm's own":           {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, "JavaScript: "},
		"broken":              {map[string]string{"package.json": `{`}, "JavaScript: "},
		"pnpm and typescript": {map[string]string{"package.json": `{"scripts":{"test":"vitest"}}`, "tsconfig.json": "", "pnpm-lock.yaml": ""}, "TypeScript: pnpm test"},
		"pytest, no setup":    {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]"}, "Python: python3 -m pytest -q"},
		"pytest, setup":       {map[string]string{"requirements.txt": "pytest==8"}, "Python: .venv/bin/python -m pytest -q"},
		"unittest":            {map[string]string{"setup.py": "", "tests/test_a.py": ""}, "Python: python3 -m unittest discover -s tests -t ."},
		"no tests":            {map[string]string{"setup.py": ""}, "Python: "},
		"two":                 {map[string]string{"go.mod": "", "package.json": `{"scripts":{"test":"jest"}}`, "yarn.lock": ""}, "Go: go vet ./... && go test ./...; JavaScript: yarn test"},
		"make":                {map[string]string{"Makefile": "all: a\n\ntest: all\n\t./run\n"}, "make: make test"},
		"make's variable":     {map[string]string{"Makefile": "test := 1\n"}, ""},
		"make beside go":      {map[string]string{"Makefile": "test:\n", "go.mod": ""}, "Go: go vet ./... && go test ./..."},
		"make beside no test": {map[string]string{"Makefile": "check:\n", "setup.py": ""}, "Python: ; make: make check"},
	} {
		files := fstest.MapFS{}
		for name, text := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		var got []string
		for _, l := range setup.Languages(files) {
			got = append(got, l.Name+": "+strings.Join(l.Checks, " && "))
			if l.Why == "" || l.For == "" {
				t.Errorf("%s: %s says neither why nor by what", what, l.Name)
			}
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s: %q, want %q", what, s, tt.want)
		}
	}
}
