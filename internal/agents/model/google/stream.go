package google

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// chunk is one event of a stream, or an error in the place of one.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		Blocked string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Content content `json:"content"`
	Finish  string  `json:"finishReason"`
	Index   int     `json:"index"`
}

// usage counts tokens; those of the prompt include the cached ones.
type usage struct {
	Prompt  int64 `json:"promptTokenCount"`
	Cached  int64 `json:"cachedContentTokenCount"`
	Answer  int64 `json:"candidatesTokenCount"`
	Thought int64 `json:"thoughtsTokenCount"`
	Tools   int64 `json:"toolUsePromptTokenCount"`
}

// maxLine is the longest line of a stream that is read.
const maxLine = 8 << 20

// read reads the events of a stream.
func read(c *wire.Call, stream io.Reader) error {
	s := state{call: c, signed: map[string]string{}}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		if err := s.event(data); err != nil {
			return err
		}
	}
	return lines.Err()
}

// state reads the events of one stream.
type state struct {
	call   *wire.Call
	named  bool
	calls  int64
	signed map[string]string
}

func (s *state) event(data []byte) error {
	var e chunk
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if len(e.Error) > 0 {
		return s.call.RefuseAs(e.Error)
	}
	if !s.named && e.Model != "" {
		s.named = true
		s.call.Answering(e.Model)
	}
	if e.Usage != nil {
		s.call.Tokens(e.Usage.tokens())
	}
	if e.Feedback.Blocked != "" {
		return s.call.Refuse("content_filter", "the prompt was blocked: "+e.Feedback.Blocked)
	}
	return s.candidates(e.Candidates)
}

func (s *state) candidates(all []candidate) error {
	for _, c := range all {
		if c.Index != 0 {
			continue // one answer was asked for
		}
		for _, p := range c.Content.Parts {
			s.part(p)
		}
		if err := s.finish(c.Finish); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) part(p part) {
	switch {
	case p.Call != nil:
		s.sign(onCall(int(s.calls)), p.Signature)
		s.call.Tool(s.calls, p.Call.ID, p.Call.Name)
		s.call.Arguments(s.calls, string(p.Call.Args))
		s.calls++
	case p.Thought:
	default:
		s.sign(onText, p.Signature)
		s.call.Text(p.Text)
	}
}

// The parts that a signature can be on.
const onText = "text"

func onCall(i int) string { return strconv.Itoa(i) }

func (s *state) sign(on, signature string) {
	if signature != "" {
		s.signed[on] = signature
	}
}

// finish marks the answer as whole, or says what came in its place.
func (s *state) finish(why string) error {
	switch why {
	case "":
		return nil
	case "STOP":
		s.whole(model.StopEnd)
	case "MAX_TOKENS":
		s.whole(model.StopLength)
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII":
		return s.call.Refuse("content_filter", "the answer was stopped: "+why)
	default: // MALFORMED_FUNCTION_CALL and what else a model can do wrong
		return fmt.Errorf("the answer ended with %s", why)
	}
	return nil
}

func (s *state) whole(why model.Stop) {
	if opaque, err := json.Marshal(s.signed); err == nil && len(s.signed) > 0 {
		s.call.Opaque(opaque)
	}
	s.call.Stop(why)
}

// signatures gives back those of an earlier answer, by part. What is not ours
// is left out.
func signatures(opaque []byte) map[string]string {
	var signed map[string]string
	if json.Unmarshal(opaque, &signed) != nil {
		return nil
	}
	return signed
}

// tokens counts reasoning as output, which is what it costs.
func (u *usage) tokens() price.Tokens {
	t := price.Tokens{Input: natural(u.Prompt) + natural(u.Tools), Output: natural(u.Answer) + natural(u.Thought)}
	t.CacheRead = min(natural(u.Cached), t.Input)
	t.Input -= t.CacheRead
	return t
}

func natural(n int64) uint64 { return uint64(max(n, 0)) }
