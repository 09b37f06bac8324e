package scripted

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
)

// Sections of the prompt that an investigation reads.
const (
	earlierCycles  = "Notes of earlier cycles"
	whatHappened   = "What happened before"
	mendTitle      = "mend the comparison"
	constantTitle  = "move the constant"
	changedPrefix  = "changed: "
	becamePrefix   = "became: "
	suspectedIn    = "suspected in "
	decisionPrefix = "decided: "
)

var sentBack = regexp.MustCompile(`(?m)^(?:(?:verify|commit|land) failed|the CEO asked for changes)`)

// asked is a comment of the CEO, which a script does not understand.
var asked = regexp.MustCompile(`(?m)^the CEO asked for changes`)

// investigate finds the fault in the first cycle and mends it in the second,
// or at once when an earlier change was sent back.
func investigate(c *conversation) *model.Response {
	tests, at, ok := c.latest("shell", allTests, 0)
	edit, edited, mending := c.latest("file_edit", "", 0)
	switch {
	case !ok:
		return begin(c)
	case mending && !edit.failed:
		return afterEdit(c, edited)
	case mending:
		return c.finish("failure", "the edit was refused", firstLines(edit.text, 5), nil)
	}
	f, end := evidence(c, tests.text)
	if end != nil {
		return end
	}
	found, ask := locate(c, f, at)
	if ask != nil {
		return ask
	}
	if _, back := c.sentBack(); c.sections[earlierCycles] == "" && !back {
		return propose(c, f, found)
	}
	return mend(c, f, found)
}

// sentBack returns why a change was last sent back, if one was.
func (c *conversation) sentBack() (reason string, ok bool) {
	text := c.sections[whatHappened]
	all := sentBack.FindAllStringIndex(text, -1)
	if all == nil {
		return "", false
	}
	return text[all[len(all)-1][0]:], true
}

// begin runs the tests and looks at what was thought before.
func begin(c *conversation) *model.Response {
	return c.say("I look at what is recorded so far, and run the tests as they are now.",
		c.shell(allTests), c.call("decision_query", map[string]any{}))
}

// recorded is the decision graph as it was at the beginning of the turn.
func (c *conversation) recorded() string {
	query, _, _ := c.latest("decision_query", "", 0)
	return query.text
}

// evidence returns a failing test to work from: from the tests just run, or,
// if these pass although the change was sent back, from what was said then.
// Without one it ends the turn.
func evidence(c *conversation, output string) (failure, *model.Response) {
	if found := failures(output); len(found) > 0 {
		return found[0], nil
	}
	reason, back := c.sentBack()
	switch found := failures(reason); {
	case testsFail(output):
		return failure{}, c.finish("failure", "the tests fail in a way that this policy does not understand", failingLines(output), nil)
	case !testsPass(output):
		return failure{}, c.finish("failure", "the tests could not be run", firstLines(output, 5), nil)
	case asked.MatchString(c.sections[whatHappened]):
		return failure{}, c.finish("success", "the change stands: all tests pass with it, and a script cannot act on a comment", "", nil)
	case back && len(found) > 0:
		return found[0], nil
	case back:
		return failure{}, c.finish("success", "the change stands as it is: all tests pass with it", "", nil)
	}
	return failure{}, c.finish("failure", "all tests pass; the failure cannot be reproduced", "", nil)
}

// locate finds the comparison that f hangs on: it searches the function, reads
// its file, and looks. It returns what to ask next, or what it found; nothing
// at all means that there is no such comparison. Only what was read after
// place from counts.
func locate(c *conversation, f failure, from int) (*suspect, *model.Response) {
	search, at, ok := c.latest("content_search", f.function, from)
	if !ok {
		return nil, c.say(fmt.Sprintf("%s says that %s. I look for %s.", f.test, f.line, f.function),
			c.call("content_search", map[string]any{"pattern": "func " + f.function + `\(`}),
			c.call("file_search", map[string]any{"glob": "**/*_test.go"}))
	}
	path := sourceIn(search.text)
	if search.failed || path == "" {
		return nil, c.finish("failure", "no source of "+f.function+" was found", firstLines(search.text, 5), nil)
	}
	file, _, ok := c.latest("file_read", path, at)
	if !ok {
		return nil, c.say("It is in "+path+". I read it.", c.call("file_read", map[string]any{"path": path}))
	}
	if file.failed {
		return nil, c.finish("failure", path+" could not be read", firstLines(file.text, 5), nil)
	}
	for _, s := range suspects(f, path, sourceLines(file.text)) {
		if !c.triedAway(s) {
			return &s, nil
		}
	}
	return nil, c.finish("failure", fmt.Sprintf("no comparison in %s decides %s", f.function, f.line),
		"read "+path+"; the fault is elsewhere", nil)
}

// triedAway reports whether mending s would bring back a line that an earlier
// change has replaced: that one is known to be wrong.
func (c *conversation) triedAway(s suspect) bool {
	_, after := s.edit()
	line := strings.TrimSpace(after[strings.LastIndex(after, "\n")+1:])
	return strings.Contains(c.sections[earlierCycles]+c.sections[whatHappened], changedPrefix+line+"\n")
}

// propose records what could be done and asks for another cycle.
func propose(c *conversation, f failure, s *suspect) *model.Response {
	if _, _, ok := c.latest("decision_log", mendTitle, 0); !ok && c.offers("decision_log") {
		seen := to("follows", f.line, "", c.recorded())
		return c.say("Both sides of the comparison are equal in the failing call. I record what could be done.",
			c.decide("option", mendTitle+": "+s.mended(), mendReason(f, s), 85, seen...),
			c.decide("option", constantTitle+": "+s.constantName()+" by one", constantReason(s), 20, seen...))
	}
	notes := fmt.Sprintf("%s%s: %s\nfailing: %s\noption %s: %s\noption %s: %s\n",
		suspectedIn, s.where(), s.expression, f.line,
		c.logged(mendTitle), mendTitle, c.logged(constantTitle), constantTitle)
	return c.finish("continue", fmt.Sprintf("%s at %s is suspected", s.expression, s.where()), notes, nil)
}

func mendReason(f failure, s *suspect) string {
	return fmt.Sprintf("%s at %s: both sides are %s in %s, so that the comparison decides the failing case. "+
		"Written as %s it answers as the test wants there, and as before everywhere else.",
		s.expression, s.where(), s.value, f.line, s.mended())
}

func constantReason(s *suspect) string {
	return fmt.Sprintf("The test would pass too, but %s is %s on purpose: others may use it or show it.", s.constantName(), s.value)
}

func (s *suspect) constantName() string {
	if s.constant != "" {
		return s.constant
	}
	return s.value
}

// mend decides between the options and edits the file.
func mend(c *conversation, f failure, s *suspect) *model.Response {
	title := decisionPrefix + s.mended()
	if _, _, ok := c.latest("decision_log", title, 0); !ok && c.offers("decision_log") {
		return c.say("I take the option that leaves every other case as it is.",
			c.decide("decision", title, mendReason(f, s), 90, c.options(f)...))
	}
	before, after := s.edit()
	return c.say("I change the comparison.", c.call("file_edit", map[string]any{"path": s.path, "old": before, "new": after}))
}

// options links a decision with what was seen, and with the options of the
// earlier cycle as its notes or the graph name them.
func (c *conversation) options(f failure) []link {
	notes, graph := c.sections[earlierCycles], c.recorded()
	links := to("follows", f.line, "", graph)
	links = append(links, to("chosen", mendTitle, "it changes the failing case and no other", notes, graph)...)
	return append(links, to("rejected", constantTitle, "others may use the constant or show it", notes, graph)...)
}

// formatted is the command that names files gofmt would change.
const formatted = "gofmt -l ."

var goFile = regexp.MustCompile(`(?m)^\S+\.go$`)

// afterEdit checks the change and says what came of it.
func afterEdit(c *conversation, edited int) *model.Response {
	format, _, asked := c.latest("shell", formatted, edited)
	tests, _, ran := c.latest("shell", allTests, edited)
	notes := c.changeNotes(edited)
	switch {
	case !asked || !ran:
		return c.say("I check the format and run all tests.", c.shell(formatted), c.shell(allTests))
	case goFile.MatchString(format.text):
		return c.finish("failure", "the change is not formatted", notes+format.text, nil)
	case !testsPass(tests.text):
		return c.finish("failure", "the tests still fail after the change", notes+failingLines(tests.text), nil)
	}
	done := "the comparison is mended and all tests pass"
	if _, _, ok := c.latest("decision_log", done, edited); !ok && c.offers("decision_log") {
		decision := c.logged(decisionPrefix)
		return c.say("All tests pass now.", c.decide("outcome", done, "ran "+allTests, 95, to("follows", decision, "", decision)...))
	}
	return c.finish("success", done, notes, nil)
}

// changeNotes says what the edit replaced, so that nobody goes back to it.
func (c *conversation) changeNotes(edited int) string {
	e := c.done[edited]
	s := c.tools["file_edit"]
	return fmt.Sprintf("file: %s\n%s%s\n%s%s\n", e.value(s.named("path")),
		changedPrefix, lastLine(e.value(s.named("old"))), becamePrefix, lastLine(e.value(s.named("new"))))
}

func lastLine(text string) string {
	return strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])
}
