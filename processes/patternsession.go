package processes

import (
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// ExampleSession is a session of a pattern as a file tells it: what people say,
// what the model says by script, and what comes of it.
type ExampleSession struct {
	// About says what the session shows.
	About string `yaml:"about" loom:"required"`
	// Request is what the person asks for at the beginning.
	Request string `yaml:"request" loom:"required"`
	// Inputs of the pattern, by name.
	Inputs map[string]string `yaml:"inputs"`
	// Primacy is the conversation: what the model asks, or says, and what the
	// person answers.
	Primacy []ExampleTurn `yaml:"primacy"`
	// Own are the answers to the pattern's own questions, in their order, where it
	// comes to them.
	Own []string `yaml:"own"`
	// Envelope quotes from the answers, by field; a field that is left out is all
	// that was answered about it.
	Envelope map[string][]string `yaml:"envelope"`
	// Findings are the rules by which META validation warns.
	Findings []string `yaml:"findings"`
	// Steps are what the model does, in the order in which steps run.
	Steps []ExampleStep `yaml:"steps" loom:"required"`
	// Completion is the evidence for each item that is met, by item.
	Completion map[string]string `yaml:"completion" loom:"required"`
	// Gaps are the items that are accepted as they are.
	Gaps []string `yaml:"gaps"`
	// Told is what the operator is told at the end.
	Told []string `yaml:"told" loom:"required"`
}

// ExampleTurn is one turn of primacy: one of Ask and Say by the model, or Unasked
// by the person.
type ExampleTurn struct {
	Ask   string `yaml:"ask"`
	Say   string `yaml:"say"`
	About string `yaml:"about"`
	// Refused is the rule by which a question is held back.
	Refused string `yaml:"refused"`
	// Answer is what the person says to it, or unasked where nothing was asked.
	Answer string `yaml:"answer"`
}

// ExampleStep is a run of a step.
type ExampleStep struct {
	Step string `yaml:"step" loom:"required"`
	// Files that the model writes, by name.
	Files map[string]string `yaml:"files"`
	// Notes go into the session's own memory.
	Notes map[string]string `yaml:"notes"`
	// Fails says that the step cannot do its work.
	Fails bool `yaml:"fails"`
	// Tempo, comment and redirect are what the operator says after it.
	Tempo    string `yaml:"tempo"`
	Comment  string `yaml:"comment"`
	Redirect string `yaml:"redirect"`
	// Outside says that the redirection is refused.
	Outside bool `yaml:"outside"`
}

// ParseExampleSession reads an example session; all that is wrong is reported as
// FILE:LINE:COL.
func ParseExampleSession(file string, data []byte) (*ExampleSession, error) {
	s := &ExampleSession{}
	if err := strictyaml.Decode(file, data, s); err != nil {
		return nil, err
	}
	return s, nil
}
