package patchscan

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
)

// places are files that matter for where they stand, by their path in lower case.
// No path matches that has none of the words, which are quicker to look for.
var places = []struct {
	kind  Kind
	words []string
	at    *lazy.Regexp
	what  string
}{
	{CI, []string{".git", ".forgejo", "circleci", "jenkinsfile", "pipelines", "travis", "appveyor", ".drone", "buildkite", "woodpecker", "cloudbuild", "teamcity", "semaphore", ".build", ".ci/"}, anyOf(
		`(^|/)\.(github|gitea|forgejo)/(workflows|actions)/`, `(^|/)\.gitlab-ci[^/]*\.ya?ml$`, `(^|/)\.gitlab/ci/`, `(^|/)\.circleci/`,
		`(^|/)jenkinsfile[^/]*$`, `(^|/)\.?azure-pipelines[^/]*(\.ya?ml$|/)`, `(^|/)\.travis\.ya?ml$`, `(^|/)\.?appveyor\.ya?ml$`,
		`(^|/)bitbucket-pipelines\.ya?ml$`, `(^|/)\.drone\.(ya?ml|star|jsonnet)$`, `(^|/)\.buildkite/`, `(^|/)\.woodpecker(/|\.ya?ml$)`,
		`(^|/)cloudbuild[^/]*\.(ya?ml|json)$`, `(^|/)\.teamcity/`, `(^|/)\.semaphore/`, `(^|/)\.builds?(/|\.ya?ml$)`, `(^|/)\.ci/`,
	), "a build service runs what stands here"},
	{CI, []string{"codeowners", "dependabot", "renovate"}, anyOf(`(^|/)codeowners$`, `(^|/)\.github/(dependabot|renovate)[^/]*$`, `(^|/)\.?renovate(rc)?(\.json5?)?$`), "the file says who reviews, or what changes by itself"},
	{Hooks, []string{"husky", "pre-commit", "lefthook", "staged", "hooks", "overcommit", ".envrc", ".vscode", ".devcontainer"}, anyOf(
		`(^|/)\.husky/`, `(^|/)\.huskyrc[^/]*$`, `(^|/)\.pre-commit-(config|hooks)\.ya?ml$`, `(^|/)\.?lefthook[^/]*\.(ya?ml|toml|json)$`,
		`(^|/)\.lefthook/`, `(^|/)\.?lint-?staged(rc)?[^/]*$`, `(^|/)\.?git-?hooks/`, `(^|/)\.overcommit\.ya?ml$`, `(^|/)\.envrc$`,
		`(^|/)\.vscode/(tasks|launch|settings)\.json$`, `(^|/)\.devcontainer(/|\.json$)`,
	), "what stands here runs by itself on the machines of those who work on the repository"},
	{Hooks, []string{".npmrc", ".yarnrc", ".pnpmfile", ".cargo"}, anyOf(`(^|/)\.npmrc$`, `(^|/)\.yarnrc(\.yml)?$`, `(^|/)\.pnpmfile\.[cm]?js$`, `(^|/)\.cargo/config(\.toml)?$`), "the file says from where packages are installed, and what runs then"},
	{Agents, []string{"loom", "roles/", "processes/", ".md", ".mcp", ".claude", ".cursor"}, anyOf(
		`(^|/)loom\.toml$`, `^roles/[^/]+\.ya?ml$`, `^(\.loom/)?processes/`, `^\.loom/`, `(^|/)(agents|claude|loom|gemini)\.md$`, `(^|/)\.mcp\.json$`,
		`(^|/)\.(claude|cursor)/`, `(^|/)\.cursorrules$`,
	), "the file steers agents, or the host that runs them"},
	{Tests, []string{"jest.", "vitest.", "playwright.", "karma.", "mocharc", "ava.config", "pytest.ini", "tox.ini"}, anyOf(
		`(^|/)(jest|vitest|playwright|karma)\.(config|conf|workspace)\.([cm]?[jt]s|json)$`, `(^|/)\.mocharc\.([cm]?js|json|ya?ml)$`, `(^|/)(ava\.config\.[cm]?js|\.?pytest\.ini|tox\.ini)$`,
	), "the file says which tests are run"},
	{Submodule, []string{".gitmodules"}, anyOf(`(^|/)\.gitmodules$`), "the file says where submodules come from"},
	{Lock, []string{"lock", ".sum", "shrinkwrap", "resolved", "requirements", "constraints"}, anyOf(
		`(^|/)(go\.sum|go\.work\.sum|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.lock|cargo\.lock`+
			`|poetry\.lock|pipfile\.lock|uv\.lock|pdm\.lock|gemfile\.lock|composer\.lock|mix\.lock|flake\.lock|packages\.lock\.json|podfile\.lock`+
			`|pubspec\.lock|package\.resolved|gradle\.lockfile|conan\.lock|\.terraform\.lock\.hcl)$`,
		`(^|/)(requirements|constraints)[^/]*\.txt$`,
	), "the file decides which code of others is installed"},
}

// anyOf makes one expression of several.
func anyOf(patterns ...string) *lazy.Regexp {
	return lazy.Compile("(?:" + strings.Join(patterns, ")|(?:") + ")")
}

// place looks at where a file stands.
func (e *examination) place(f File) {
	lower := strings.ToLower(f.Path)
	for _, p := range places {
		if slices.ContainsFunc(p.words, func(w string) bool { return strings.Contains(lower, w) }) && p.at.MatchString(lower) {
			e.add(p.kind, f.Path, 0, "%s", p.what)
		}
	}
	if r := e.rules.named(f.Path); r != nil && !f.deleted() {
		e.add(Secret, f.Path, 0, "the file is of a kind that holds keys: %s", r.ID)
	}
}

// link looks at where a symbolic link leads.
func (e *examination) link(f File) {
	target := string(f.New)
	if why := outside(f.Path, target); why != "" {
		e.add(LinkOutside, f.Path, 0, "the symbolic link leads to %s, %s", quoted(target), why)
		return
	}
	e.add(Link, f.Path, 0, "the file is a symbolic link to %s", quoted(target))
}

// quoted is a short form of a text that somebody else wrote, in one line.
func quoted(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}

// outside says why a link's target may lie outside of the repository, or "".
// Names before a ".." may be links themselves, so that nobody can tell from the
// text where such a target lies.
func outside(link, target string) string {
	if strings.HasPrefix(target, "/") || strings.HasPrefix(target, "~") || strings.Contains(target, `\`) || strings.Contains(target, ":") {
		return "which lies outside of the repository"
	}
	named := false
	for _, part := range strings.Split(target, "/") {
		switch {
		case part == "..":
			if named {
				return "which cannot be told to lie in the repository"
			}
		case part != "." && part != "":
			named = true
		}
	}
	at := path.Join(path.Dir(link), target)
	switch {
	case at == ".." || strings.HasPrefix(at, "../"):
		return "which lies outside of the repository"
	case strings.EqualFold(at, ".git") || strings.HasPrefix(strings.ToLower(at), ".git/"):
		return "which is git's own"
	case target == "":
		return "which is no place"
	}
	return ""
}

var (
	drivers = lazy.Compile(`\s(filter|diff|merge)=(\S+)`)
	hides   = lazy.Compile(`\s(-diff|binary|linguist-generated(?:=true)?)(?:\s|$)`)
	recodes = lazy.Compile(`\s(working-tree-encoding=\S+|ident|export-subst)(?:\s|$)`)
)

// attributes looks at added lines of .gitattributes.
func (e *examination) attributes(file string, t text, added []int) {
	if !strings.EqualFold(path.Base(file), ".gitattributes") {
		return
	}
	for _, i := range added {
		line := t.line(i)
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, m := range drivers.FindAllStringSubmatch(line, -1) {
			e.add(Attributes, file, i+1, "the %s %s names a program that git runs where it is configured", m[1], quoted(m[2]))
		}
		if m := hides.FindStringSubmatch(line); m != nil {
			e.add(Attributes, file, i+1, "%s hides the text of files from diffs", m[1])
		}
		if m := recodes.FindStringSubmatch(line); m != nil {
			e.add(Attributes, file, i+1, "%s makes files in a checkout differ from what is committed", quoted(m[1]))
		}
	}
}

// npmEvents are keys of package.json under which something runs by itself.
var npmEvents = []string{
	"preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "prepublish", "prepublishOnly", "prepack",
	"husky", "lint-staged", "simple-git-hooks", "pre-commit", "pre-push",
}

var npmScript = lazy.Compile(`(?:^|[{,])\s*"(` + strings.Join(npmEvents, "|") + `)"\s*:`)

// scripts looks for what runs by itself in package.json: in added lines, and in its
// scripts, however they are written.
func (e *examination) scripts(file string, before, after text, added []int) {
	if path.Base(file) != "package.json" {
		return
	}
	told := map[string]bool{}
	for _, i := range added {
		for _, m := range npmScript.FindAllStringSubmatch(after.line(i), -1) {
			told[m[1]] = true
			e.add(Hooks, file, i+1, "%q runs by itself when the package is installed or committed to", m[1])
		}
	}
	was, is := scriptsOf(before), scriptsOf(after)
	if was["test"] != "" && is["test"] != was["test"] {
		e.add(Tests, file, 0, "the script \"test\", which runs the tests, is another")
	}
	for _, event := range npmEvents {
		if is[event] != was[event] && is[event] != "" && !told[event] {
			e.add(Hooks, file, 0, "the script %q runs by itself when the package is installed or committed to", event)
		}
	}
}

// scriptsOf returns the scripts of a package.json; none of what is not one.
func scriptsOf(t text) map[string]string {
	var p struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(t.whole), &p) != nil {
		return nil
	}
	return p.Scripts
}
