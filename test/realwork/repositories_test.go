//go:build realwork

package realwork

import (
	"bytes"
	"embed"
	"fmt"
	"slices"

	"github.com/loomrun/loom/internal/place/git"
)

// repository is one that somebody else wrote, and what is wrong with it.
type repository struct {
	name    string
	about   string // what it is, and whose
	archive archive
	// edits make it a repository to work in, and plant the bug.
	edits []edit
	// adds are files of ours, by path, from testdata/NAME.
	adds []string
	// hook is a pre-commit hook of the user's clone.
	hook string
	// byHand is what its user has run in the clone, so that what it needs has been
	// fetched and its hooks are installed. It is the one that uses the network.
	byHand string
	// check must pass before anything lands.
	check string
	goal  string // what is reported
	tells string // what else the report says
	// mended is a piece of a file that is there again in the end, and by no accident.
	mended edit
}

// edit replaces a piece of a file, that is there once.
type edit struct{ path, old, new string }

//go:embed all:testdata
var ours embed.FS

// files returns the repository's files with the edits made.
func (r repository) files(theirs []git.File) ([]git.File, error) {
	files := slices.Clone(theirs)
	for _, e := range r.edits {
		i := slices.IndexFunc(files, func(f git.File) bool { return f.Path == e.path })
		if i < 0 || bytes.Count(files[i].Data, []byte(e.old)) != 1 {
			return nil, fmt.Errorf("%s: there is not one %q in %s", r.name, e.old, e.path)
		}
		files[i].Data = bytes.Replace(files[i].Data, []byte(e.old), []byte(e.new), 1)
	}
	for _, path := range r.adds {
		data, err := ours.ReadFile("testdata/" + r.name + "/" + path)
		if err != nil {
			return nil, err
		}
		files = append(files, git.File{Path: path, Data: data})
	}
	if r.hook != "" {
		files = append(files, git.File{Path: ".git/hooks/pre-commit", Data: []byte(r.hook), Exec: true})
	}
	return files, nil
}

// repositories are five that live in the wild: a library and a program in Go, a
// program in C, a package in JavaScript, and one in Python.
var repositories = []repository{
	{
		name:  "humanize",
		about: "github.com/dustin/go-humanize v1.0.1, a Go library",
		archive: archive{
			url: "https://proxy.golang.org/github.com/dustin/go-humanize/@v/v1.0.1.zip",
			sum: "h1:GzkhY7T5VNhEkwH0PVJgjz+fX1rhBrR7pRT3mDkpeCY=",
			top: "github.com/dustin/go-humanize@v1.0.1",
		},
		edits: []edit{{"ftoa.go", "\t\tif digits <= 0 {\n\t\t\treturn s[:i]\n", "\t\tif digits < 0 {\n\t\t\treturn s[:i]\n"}},
		check: "go vet ./... && go test ./...",
		goal:  "FtoaWithDigits and CommafWithDigits leave a point at the end when no digits are asked for",
		tells: "CommafWithDigits(1234.5, 0) returns \"1,234.\" and should return \"1,234\". Seen in a price list.",
		mended: edit{
			"ftoa.go", "if digits < 0 {", "if digits <= 0 {",
		},
	},
	{
		name:  "gojq",
		about: "github.com/itchyny/gojq v0.12.17, a Go program",
		archive: archive{
			url: "https://proxy.golang.org/github.com/itchyny/gojq/@v/v0.12.17.zip",
			sum: "h1:8av8eGduDb5+rvEdaOO+zQUjA04MS0m3Ps8HiD+fceg=",
			top: "github.com/itchyny/gojq@v0.12.17",
		},
		byHand: "go mod download",
		edits:  []edit{{"func.go", "return strings.TrimPrefix(s, t)", "return strings.TrimLeft(s, t)"}},
		hook:   "#!/bin/sh\nbad=$(git diff --cached --name-only --diff-filter=d -- '*.go' | xargs -r gofmt -l)\n[ -z \"$bad\" ] || { echo \"not formatted: $bad\"; exit 1; }\nexec go vet .\n",
		check:  "go build ./... && go test ./...",
		goal:   "ltrimstr takes too much away",
		tells:  "gojq -n '\"fooo\" | ltrimstr(\"foo\")' prints \"\" where jq prints \"o\".",
		mended: edit{
			"func.go", "TrimLeft(s, t)", "strings.TrimPrefix(s, t)",
		},
	},
	{
		name:  "figlet",
		about: "figlet 2.2.5 as Debian has it, a C program",
		archive: archive{
			url: "https://deb.debian.org/debian/pool/main/f/figlet/figlet_2.2.5.orig.tar.gz",
			sum: "sha256:bf88c40fd0f077dab2712f54f8d39ac952e4e9f2e1882f1195be9e5e4257417d",
			top: "figlet-2.2.5",
		},
		edits: []edit{{"figlet.c", "if (lch=='_' && strchr(\"|/\\\\[]{}()<>\",rch)) return rch;", "if (lch=='_' && strchr(\"/\\\\[]{}()<>\",rch)) return rch;"}},
		check: "make && make check; code=$?; make clean; rm -f tests.log; exit $code",
		goal:  "Letters stand too far apart in several fonts since the last release",
		tells: "With the font standard, \"figlet\" takes more columns than it did. make check tells of failures, too.",
		mended: edit{
			"figlet.c", "if (lch=='_' && strchr(\"/", "if (lch=='_' && strchr(\"|/\\\\[]{}()<>\",rch)) return rch;",
		},
	},
	{
		name:  "pino",
		about: "pino-abstract-transport 3.0.0, a JavaScript package",
		archive: archive{
			url: "https://registry.npmjs.org/pino-abstract-transport/-/pino-abstract-transport-3.0.0.tgz",
			sum: "sha512-wlfUczU+n7Hy/Ha5j9a/gZNy7We5+cXp8YL+X+PG8S0KXxw7n/JXA3c46Y0zQznIJ83URJiwy7Lh56WLokNuxg==",
			top: "package",
		},
		edits: []edit{
			{"index.js", "    if (value === null) {\n", "    if (value === undefined) {\n"},
			// What npm installs is held to what the tests and the hook need.
			{"package.json", "standard | snazzy && borp --check-coverage 'test/*.test.js'  && tsd", "node --test test/base.test.js"},
			{"package.json", "    \"@types/node\": \"^20.1.0\",\n    \"borp\": \"^0.20.2\",\n", ""},
			{"package.json", "    \"snazzy\": \"^9.0.0\",\n    \"standard\": \"^17.0.0\",\n", ""},
			{"package.json", "    \"thread-stream\": \"^3.1.0\",\n    \"tsd\": \"^0.31.0\"\n", "    \"thread-stream\": \"^3.1.0\"\n"},
		},
		adds:   []string{"package-lock.json", ".gitignore"},
		byHand: "npm ci --no-audit --no-fund",
		check:  "npm test",
		goal:   "A transport crashes when a log line is null",
		tells:  "A line that is just null ends the worker with: TypeError: Cannot read properties of null (reading 'time'). It should be reported with the event unknown, as lines that are no JSON are.",
		mended: edit{
			"index.js", "value === undefined", "value === null",
		},
	},
	{
		name:  "xmltodict",
		about: "xmltodict 0.13.0 as Debian has it, a Python package",
		archive: archive{
			url: "https://deb.debian.org/debian/pool/main/p/python-xmltodict/python-xmltodict_0.13.0.orig.tar.gz",
			sum: "sha256:d74f4099d42bcca273ffd3bc9766abaa8765960eabc4399f2a6ad48cb4f58ce0",
			top: "xmltodict-0.13.0",
		},
		edits: []edit{{"xmltodict.py", "return self.force_list(self.path[:-1], key, value)", "return self.force_list(self.path, key, value)"}},
		adds:  []string{".gitignore"},
		check: "/usr/bin/python3 -m venv --system-site-packages .venv && .venv/bin/pip install -q --no-index --no-build-isolation --no-deps -e . && .venv/bin/python -m unittest discover -s tests",
		goal:  "force_list given as a function is asked with a wrong path",
		tells: "The path that a callable force_list receives ends with the element itself; it should end with its parent, as it does for other callbacks.",
		mended: edit{
			"xmltodict.py", "force_list(self.path, key", "force_list(self.path[:-1], key",
		},
	},
}
