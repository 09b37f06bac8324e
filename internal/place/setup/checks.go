package setup

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Language is a language that a repository's files show, and the commands that tell
// whether its code is right.
type Language struct {
	// Name is the language's own, as in "Go".
	Name string `json:"name"`
	// For is the file that shows it.
	For string `json:"for"`
	// Checks are commands that exit with 0 where all is well; none if the files do not
	// say how it is tested.
	Checks []string `json:"checks"`
	// Why says what the checks were taken from, or what is missing for one.
	Why string `json:"why"`
}

// Languages returns what the files at the top of a repository show, in a fixed order. A
// makefile with a target for tests counts where nothing else says how to test.
func Languages(files fs.FS) (all []Language) {
	for _, look := range []func(fs.FS) *Language{goChecks, nodeChecks, pythonChecks, rustChecks, rubyChecks, elixirChecks, javaChecks} {
		if l := look(files); l != nil {
			all = append(all, *l)
		}
	}
	if !slices.ContainsFunc(all, func(l Language) bool { return len(l.Checks) > 0 }) {
		if l := makeChecks(files); l != nil {
			all = append(all, *l)
		}
	}
	return all
}

func goChecks(files fs.FS) *Language {
	if !has(files, "go.mod") {
		return nil
	}
	return &Language{"Go", "go.mod", []string{"go vet ./...", "go test ./..."}, "go.mod"}
}

// npmDefault is what "npm init" writes where there are no tests.
const npmDefault = "no test specified"

func nodeChecks(files fs.FS) *Language {
	if !has(files, "package.json") {
		return nil
	}
	l := &Language{Name: "JavaScript", For: "package.json", Why: "package.json has no script \"test\""}
	if has(files, "tsconfig.json") {
		l.Name = "TypeScript"
	}
	var said struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(read(files, "package.json")), &said) != nil {
		l.Why = "package.json cannot be read"
		return l
	}
	if test := said.Scripts["test"]; test == "" || strings.Contains(test, npmDefault) {
		return l
	}
	l.Why, l.Checks = "the script \"test\" of package.json", []string{"npm test"}
	switch {
	case has(files, "pnpm-lock.yaml"):
		l.Checks = []string{"pnpm test"}
	case has(files, "yarn.lock"):
		l.Checks = []string{"yarn test"}
	}
	return l
}

func pythonChecks(files fs.FS) *Language {
	l := &Language{Name: "Python", For: first(files, "pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt")}
	if l.For == "" {
		return nil
	}
	python := "python3"
	if pythonStep(files) {
		python = ".venv/bin/python"
	}
	said := read(files, "pyproject.toml") + read(files, "setup.cfg") + read(files, "tox.ini")
	lists, _ := fs.Glob(files, "requirements*.txt") // the pattern is sound
	for _, list := range lists {
		said += read(files, list)
	}
	tests := first(files, "test_*.py", "tests/test_*.py", "tests/*_test.py", "test/test_*.py")
	switch {
	case has(files, "pytest.ini") || has(files, "conftest.py") || has(files, "tests/conftest.py") || strings.Contains(said, "pytest"):
		l.Checks, l.Why = []string{python + " -m pytest -q"}, "its files name pytest"
	case strings.Contains(tests, "/"):
		l.Checks, l.Why = []string{python + " -m unittest discover -s " + path.Dir(tests) + " -t ."}, tests
	case tests != "":
		l.Checks, l.Why = []string{python + " -m unittest discover"}, tests
	default:
		l.Why = "no file names pytest, and there is no test_*.py"
	}
	return l
}

// pythonStep reports whether the setup makes a virtual environment.
func pythonStep(files fs.FS) bool { return slices.Contains(python(files, false).Leaves, ".venv/") }

func rustChecks(files fs.FS) *Language {
	if !has(files, "Cargo.toml") {
		return nil
	}
	return &Language{"Rust", "Cargo.toml", []string{"cargo test --offline"}, "Cargo.toml"}
}

func rubyChecks(files fs.FS) *Language {
	switch {
	case !has(files, "Gemfile"):
		return nil
	case has(files, ".rspec") || has(files, "spec/spec_helper.rb"):
		return &Language{"Ruby", "Gemfile", []string{"bundle exec rspec"}, "its specs"}
	case has(files, "Rakefile"):
		return &Language{"Ruby", "Gemfile", []string{"bundle exec rake test"}, "Rakefile"}
	}
	return &Language{Name: "Ruby", For: "Gemfile", Why: "there are neither specs nor a Rakefile"}
}

func elixirChecks(files fs.FS) *Language {
	if !has(files, "mix.exs") {
		return nil
	}
	return &Language{"Elixir", "mix.exs", []string{"mix test"}, "mix.exs"}
}

func javaChecks(files fs.FS) *Language {
	switch {
	case has(files, "pom.xml"):
		return &Language{"Java", "pom.xml", []string{"mvn -q -o test"}, "pom.xml"}
	case has(files, "gradlew"):
		return &Language{"Java", "gradlew", []string{"./gradlew --offline test"}, "gradlew"}
	}
	return nil
}

// testTarget is the rule of a makefile for tests.
var testTarget = regexp.MustCompile(`(?m)^(test|check)\s*:([^=]|$)`)

func makeChecks(files fs.FS) *Language {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if m := testTarget.FindStringSubmatch(read(files, name)); m != nil {
			return &Language{"make", name, []string{"make " + m[1]}, "the target " + m[1] + " of " + name}
		}
	}
	return nil
}

// first returns the first file that matches a pattern, "" if none does.
func first(files fs.FS, patterns ...string) string {
	for _, p := range patterns {
		found, err := fs.Glob(files, p)
		if err == nil && len(found) > 0 && has(files, found[0]) {
			return found[0]
		}
	}
	return ""
}

// read returns the text of a file, "" for one that is not there or too large to be
// what it is called.
func read(files fs.FS, name string) string {
	if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
		return ""
	}
	data, _ := fs.ReadFile(files, name) // what cannot be read says nothing
	return string(data)
}
