package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/place/repomap"
)

func main() {
	repository := flag.String("repository", "", "directory of a git repository, with or without a work tree")
	fixes := flag.Int("fixes", 30, "how many known fixes")
	before := flag.String("before", "HEAD", "only fixes that this commit has")
	verbose := flag.Bool("v", false, "print each fix with the place of its file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, *repository, *before, *fixes, *verbose)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// among are the lengths of lists that a hit is counted in.
var among = []int{1, 5, 20}

// measure prints what the map finds, and what it costs.
func measure(ctx context.Context, dir, before string, n int, verbose bool) error {
	s, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer s.close()
	fixes, err := s.fixes(before, n)
	if err != nil {
		return err
	}
	if err := s.costs(before); err != nil {
		return err
	}
	hits := map[string]map[int]int{}
	for _, o := range orders {
		hits[o.name] = map[int]int{}
	}
	for _, f := range fixes {
		files, _, err := s.files(f.commit + "^")
		if err != nil {
			return err
		}
		line := ""
		for _, o := range orders {
			at := place(o.rank(files, f.message), f.changed)
			for _, n := range among {
				if at <= n {
					hits[o.name][n]++
				}
			}
			line += fmt.Sprintf(" %5d", at)
		}
		if verbose {
			fmt.Printf("%s%s  %s %v\n", f.commit[:9], line, strings.SplitN(f.message, "\n", 2)[0], f.changed)
		}
	}
	fmt.Printf("%d fixes; a changed file is\n  %-44s %8s %8s %8s\n", len(fixes), "", "first", "in 5", "in 20")
	for _, o := range orders {
		fmt.Printf("  %-44s %8d %8d %8d\n", o.name, hits[o.name][1], hits[o.name][5], hits[o.name][20])
	}
	return nil
}

// costs prints what the first map and the next one take.
func (s *store) costs(rev string) error {
	begun := time.Now()
	files, fresh, err := s.files(rev)
	if err != nil {
		return err
	}
	read := time.Since(begun)
	var encoded [][]byte
	size := 0
	for _, f := range files {
		encoded = append(encoded, f.Outline.Encode())
		size += len(encoded[len(encoded)-1])
	}
	begun = time.Now()
	for _, data := range encoded {
		if _, err := repomap.Decode(data); err != nil {
			return err
		}
	}
	decoded := time.Since(begun)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	allocated := m.TotalAlloc
	begun = time.Now()
	text := repomap.Draw(files, repomap.Work{Text: "the server does not close its connection"}, 6144)
	drawn := time.Since(begun)
	runtime.ReadMemStats(&m)
	fmt.Printf("%d files, %d outlined: read and outlined in %v; %d KiB of outlines, decoded in %v; drawn in %v (%d bytes); outlines in memory %d MiB, drawing allocates %d MiB, process %d MiB\n",
		len(files), fresh, read.Round(time.Millisecond), size>>10, decoded.Round(time.Millisecond), drawn.Round(time.Millisecond), len(text), m.HeapAlloc>>20, (m.TotalAlloc-allocated)>>20, m.Sys>>20)
	begun = time.Now()
	_, again, err := s.files(rev + "~1")
	if err == nil {
		fmt.Printf("the commit before: %d outlined anew, %v\n", again, time.Since(begun).Round(time.Millisecond))
	}
	return err
}

// order is a way to rank files by a message.
type order struct {
	name string
	rank func(files []repomap.File, message string) []string
}

var orders = []order{
	{"the map", mapped},
	{"the map, without names of files", func(f []repomap.File, m string) []string { return mapped(f, unnamed(m)) }},
	{"words in names of files, shallow ones first", byNames},
	{"words in names, without names of files", func(f []repomap.File, m string) []string { return byNames(f, unnamed(m)) }},
	{"words in the text", byWords},
	{"words in the text, without names of files", func(f []repomap.File, m string) []string { return byWords(f, unnamed(m)) }},
}

func mapped(files []repomap.File, message string) []string {
	var list []string
	for _, r := range repomap.Rank(files, repomap.Work{Text: message}) {
		list = append(list, r.Path)
	}
	return list
}

// byNames orders files by the words of the message in their paths.
func byNames(files []repomap.File, message string) []string {
	words := wordsOf(message)
	return sorted(files, func(f repomap.File) (n int) {
		name := strings.ToLower(f.Path)
		for _, w := range words {
			if strings.Contains(name, w) {
				n++
			}
		}
		return n
	})
}

// byWords orders files by how many words of the message they hold.
func byWords(files []repomap.File, message string) []string {
	want := repomap.Read("message.py", []byte(message)).Words
	return sorted(files, func(f repomap.File) (n int) {
		for _, w := range want {
			if _, ok := slices.BinarySearchFunc(f.Outline.Words, w.Hash, func(c repomap.Count, h uint32) int { return cmp.Compare(c.Hash, h) }); ok {
				n++
			}
		}
		return n
	})
}

func sorted(files []repomap.File, score func(repomap.File) int) []string {
	scores := map[string]int{}
	var list []string
	for _, f := range files {
		scores[f.Path] = score(f)
		list = append(list, f.Path)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	return list
}

func wordsOf(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' })
	list = slices.DeleteFunc(list, func(w string) bool { return len(w) < 4 })
	slices.Sort(list)
	return slices.Compact(list)
}

// place is where the best of the wanted files stands, 1 for the first.
func place(list, wanted []string) int {
	for i, p := range list {
		if slices.Contains(wanted, p) {
			return i + 1
		}
	}
	return len(list) + 1
}

var fileNames = regexp.MustCompile(`\S*\w\.(go|js|jsx|mjs|cjs|ts|tsx|mts|vue|py|pyi|md|rst|html|css|json|ya?ml|toml|txt)\b\S*|\S+/\S+`)

// unnamed is a message without what looks like the name of a file.
func unnamed(message string) string { return fileNames.ReplaceAllString(message, " ") }

// source reports whether a file is one that a fix of the program changes.
func source(p string) bool {
	if !repomap.Known(p) {
		return false
	}
	for _, part := range strings.Split(path.Dir(p), "/") {
		switch part {
		case "test", "tests", "testing", "testdata", "__tests__", "playground", "docs", "doc", "examples", "vendor", "node_modules", "fixtures", "dist", "scripts", ".github":
			return false
		}
	}
	base := path.Base(p)
	return !strings.HasPrefix(base, "test_") && !strings.Contains(base, "_test.") && !strings.Contains(base, ".test.") && !strings.Contains(base, ".spec.")
}
