package actors

import (
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Trouble is something that went wrong within Loom itself.
type Trouble struct {
	// Project that it is about, or "".
	Project string
	// Kind is what went wrong, in a word or two: "lost-actor", "poison",
	// "quarantined", "set-aside".
	Kind string
	// Message says it for a person.
	Message string
}

// troubleBytes bounds the message of a report.
const troubleBytes = 4 << 10

// Report returns t as an error report of Loom's own.
func (t Trouble) Report() *loomv1.ErrorReport {
	return &loomv1.ErrorReport{Service: project.Self, Kind: t.Kind, Message: sound(t.Message, troubleBytes), Crash: true}
}

// sound is text as messages can carry it, of at most so many bytes.
func sound(text string, most int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// tell tells whoever wants to know of an internal error, unless it came of
// filing one.
func (p *partition) tell(t Trouble, cause *loomv1.Command) {
	if p.Trouble == nil || cause.GetFileError().GetReport().GetService() == project.Self {
		return
	}
	p.Trouble(t)
}
