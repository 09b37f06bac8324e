// Package sourcelist lists what tools have read outside of a workspace, from the events
// that say so.
//
// It promises that the list is the runtime's: no word of a model is in it. It has each
// content of an address once, in the order of the journal, so that the same events make
// the same list.
package sourcelist

import (
	"fmt"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Entry is something that was read.
type Entry struct {
	// Number counts from 1.
	Number  int    `json:"number"`
	Address string `json:"address"`
	Title   string `json:"title,omitempty"`
	// Tool read it, in an attempt at a node.
	Tool      string    `json:"tool"`
	Node      string    `json:"node"`
	Attempt   string    `json:"attempt"`
	Execution string    `json:"execution"`
	At        time.Time `json:"at"`
	// SHA256 and Size are of what came.
	SHA256 string `json:"sha256"`
	Size   uint64 `json:"size"`
	// Content and Text name the blobs that have what came, and its words; empty where
	// it was too large to be kept, or where the words are the content.
	Content string `json:"content,omitempty"`
	Text    string `json:"text,omitempty"`
}

// Kept names the blob that has the words of what was read, "" for none.
func (e Entry) Kept() string {
	if e.Text != "" {
		return e.Text
	}
	return e.Content
}

// List is what was read. The zero value is empty.
type List struct {
	entries []Entry
	numbers map[string]int // by address and SHA-256
}

// Add takes an event; most say nothing of sources.
func (l *List) Add(e *loomv1.Event) {
	f := e.GetToolFinished()
	for _, r := range f.GetResult().GetRead() {
		if l.Number(r) > 0 {
			continue
		}
		if l.numbers == nil {
			l.numbers = map[string]int{}
		}
		l.numbers[key(r)] = len(l.entries) + 1
		l.entries = append(l.entries, Entry{
			Number: len(l.entries) + 1, Address: r.Address, Title: r.Title, Tool: f.Tool, Node: e.Node, Attempt: e.Attempt, Execution: e.Execution,
			At: e.Time.AsTime().UTC(), SHA256: r.Sha256, Size: r.Size, Content: r.Content.GetSha256(), Text: r.Text.GetSha256(),
		})
	}
}

func key(r *loomv1.SourceRead) string { return r.Address + " " + r.Sha256 }

// Number is the number of what was read, 0 if it is not on the list.
func (l *List) Number(r *loomv1.SourceRead) int { return l.numbers[key(r)] }

// Entries returns what was read.
func (l *List) Entries() []Entry { return l.entries }

// Tree is what was read for a bead: in all its executions, and for beads that were filed
// under it or about it.
type Tree struct {
	list  List
	beads map[string]bool
	whole bool
}

// Of returns the tree of a bead. It takes the events of the project from the first.
func Of(bead string) *Tree { return &Tree{beads: map[string]bool{bead: true}} }

// Add takes an event, and says whether it is about one of the beads.
func (t *Tree) Add(e *loomv1.Event) bool {
	if f := e.GetBeadFiled(); f != nil {
		t.whole = t.whole || t.beads[f.Bead.Id]
		if t.beads[f.Bead.Parent] || t.beads[f.Bead.About] {
			t.beads[f.Bead.Id] = true
		}
	}
	if !t.beads[e.GetBead()] {
		return false
	}
	t.list.Add(e)
	return true
}

// Whole says whether the events began before the bead: else something of what was read
// may be missing, and numbers count from there.
func (t *Tree) Whole() bool { return t.whole }

// Entries returns what was read.
func (t *Tree) Entries() []Entry { return t.list.entries }

// Number is the number of what was read, 0 if it is not on the list.
func (t *Tree) Number(r *loomv1.SourceRead) int { return t.list.Number(r) }

// Markdown is a list as a document that can stand beside a report.
func Markdown(list []Entry) string {
	var b strings.Builder
	b.WriteString("# Sources\n\nWhat was read, as the runtime recorded it: the address, when, and the SHA-256 of what came.\n\n")
	if len(list) == 0 {
		b.WriteString("Nothing was read outside of the workspace.\n")
	}
	return b.String() + Entries(list)
}

// Entries are the entries of a list as Markdown.
func Entries(list []Entry) string {
	var b strings.Builder
	for _, e := range list {
		title := e.Title
		if title == "" {
			title = e.Address
		}
		fmt.Fprintf(&b, "%d. %s\n   <%s>\n   %s by %s at %s, %d bytes, sha256 %s\n", e.Number, escaped.Replace(title), linked.Replace(e.Address), e.At.Format(time.RFC3339), e.Tool, e.Node, e.Size, e.SHA256)
	}
	return b.String()
}

// linked keeps an address within its brackets.
var linked = strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", "\n", "%0A", "\r", "%0D", "\t", "%09")

// escaped keeps a title that others wrote from being more than words.
var escaped = strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "<", "\\<", ">", "\\>", "*", "\\*", "_", "\\_", "`", "\\`", "!", "\\!", "#", "\\#", "&", "\\&")
