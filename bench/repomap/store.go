package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/place/repomap"
)

// store reads a repository through one git process, and keeps outlines by object id.
type store struct {
	command  func(args ...string) *exec.Cmd // a git command there
	cat      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	outlines map[string]repomap.Outline
}

func open(ctx context.Context, dir string) (*store, error) {
	command := func(args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	}
	s := &store{command: command, outlines: map[string]repomap.Outline{}, cat: command("cat-file", "--batch")}
	var err error
	if s.in, err = s.cat.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cat.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, s.cat.Start()
}

func (s *store) close() {
	_ = s.in.Close()
	_ = s.cat.Wait()
}

func (s *store) git(args ...string) (string, error) {
	out, err := s.command(args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// blob returns the content of an object.
func (s *store) blob(id string) ([]byte, error) {
	if _, err := fmt.Fprintln(s.in, id); err != nil {
		return nil, err
	}
	head, err := s.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	var size int
	if _, err := fmt.Sscanf(head, id+" blob %d", &size); err != nil {
		return nil, fmt.Errorf("object %s: %q", id, strings.TrimSpace(head))
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(s.out, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

// files are those of a commit, and how many were outlined for it.
func (s *store) files(rev string) (list []repomap.File, fresh int, err error) {
	tree, err := s.git("ls-tree", "-r", "-z", rev)
	if err != nil {
		return nil, 0, err
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(tree, "\x00"), "\x00") {
		meta, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(meta)
		if len(fields) != 3 || fields[1] != "blob" || fields[0] == "120000" {
			continue
		}
		file := repomap.File{Path: name}
		if repomap.Known(name) {
			key := fields[2] + filepath.Ext(name)
			outline, ok := s.outlines[key]
			if !ok {
				data, err := s.blob(fields[2])
				if err != nil {
					return nil, 0, err
				}
				outline = repomap.Read(name, data)
				s.outlines[key] = outline
				fresh++
			}
			file.Outline = outline
		}
		list = append(list, file)
	}
	return list, fresh, nil
}

// fix is a commit that mended something.
type fix struct {
	commit, message string
	changed         []string // files of source
}

var (
	mends    = regexp.MustCompile(`(?i)\b(fix(e[sd])?|bug)\b`)
	chores   = regexp.MustCompile(`(?i)\b(typos?|lint|linting|docs?|deps?|ci|test|tests|release|bump|revert|merge|changelog|mypy|ruff|typing)\b`)
	trailers = regexp.MustCompile(`(?m)^(Signed-off-by|Co-authored-by|Reviewed-by):.*$`)
)

// fixes returns the newest n.
func (s *store) fixes(before string, n int) (list []fix, err error) {
	log, err := s.git("log", "--no-merges", "--format=%x01%H%x00%B%x00", "--name-status", "--no-renames", before)
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(strings.TrimPrefix(log, "\x01"), "\x01") {
		parts := strings.SplitN(entry, "\x00", 3)
		if len(parts) < 3 {
			continue
		}
		f := fix{commit: parts[0], message: trailers.ReplaceAllString(strings.TrimSpace(parts[1]), "")}
		subject, _, _ := strings.Cut(f.message, "\n")
		if !mends.MatchString(subject) || chores.MatchString(subject) {
			continue
		}
		sound := true
		for line := range strings.SplitSeq(strings.TrimSpace(parts[2]), "\n") {
			status, name, _ := strings.Cut(line, "\t")
			if !source(name) {
				continue
			}
			sound = sound && status == "M" // the file was there before
			f.changed = append(f.changed, name)
		}
		if sound && len(f.changed) > 0 && len(f.changed) <= 3 {
			list = append(list, f)
		}
		if len(list) == n {
			break
		}
	}
	return list, nil
}
