package main

import (
	"bytes"
	"compress/gzip"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/loomrun/loom/internal/cli"
)

// pages are the manual pages, one for each command, and the completions, as they
// stand in an archive.
func pages(version string, moment time.Time) ([]file, error) {
	tree := cli.Tree()
	tree.DisableAutoGenTag = true
	var list []file
	for _, cmd := range commands(tree) {
		var page, zipped bytes.Buffer
		head := &doc.GenManHeader{Title: strings.ToUpper(strings.ReplaceAll(cmd.CommandPath(), " ", "-")), Section: "1", Date: &moment, Source: "Loom " + version, Manual: "Loom"}
		if err := doc.GenMan(cmd, head, &page); err != nil {
			return nil, err
		}
		zip := gzip.NewWriter(&zipped)
		if _, err := zip.Write(page.Bytes()); err != nil {
			return nil, err
		}
		if err := zip.Close(); err != nil {
			return nil, err
		}
		list = append(list, file{"man/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1.gz", 0o644, zipped.Bytes()})
	}
	for _, shell := range []struct {
		name string
		gen  func(*bytes.Buffer) error
	}{
		{"completions/loom.bash", func(b *bytes.Buffer) error { return tree.GenBashCompletionV2(b, true) }},
		{"completions/_loom", func(b *bytes.Buffer) error { return tree.GenZshCompletion(b) }},
		{"completions/loom.fish", func(b *bytes.Buffer) error { return tree.GenFishCompletion(b, true) }},
	} {
		var text bytes.Buffer
		if err := shell.gen(&text); err != nil {
			return nil, err
		}
		list = append(list, file{shell.name, 0o644, text.Bytes()})
	}
	return list, nil
}

// commands returns a command and all below it that are shown to people.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// placeOf says where a Debian system has a page or completion of an archive.
func placeOf(name string) (string, bool) {
	base := path.Base(name)
	switch {
	case path.Dir(name) == "man":
		return "usr/share/man/man1/" + base, true
	case base == "loom.bash":
		return "usr/share/bash-completion/completions/loom", true
	case base == "_loom":
		return "usr/share/zsh/vendor-completions/_loom", true
	case base == "loom.fish":
		return "usr/share/fish/vendor_completions.d/loom.fish", true
	}
	return "", false
}
