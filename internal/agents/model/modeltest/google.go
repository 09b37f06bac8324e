package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Google starts a server of the Gemini API's streamGenerateContent that stops
// with the test. It refuses what the real one refuses: a conversation that does
// not alternate, results that do not answer the calls before them, and calls
// without a signature to a model that signs its own.
func Google(t testing.TB, script Script) *Server {
	return serve(t, protocol{
		path: "/v1beta/models/{method}", parse: parseGoogle, events: googleEvents,
		broken: "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n",
	}, "/v1beta", script)
}

type googleRequest struct {
	System     googleContent   `json:"systemInstruction"`
	Contents   []googleContent `json:"contents"`
	Generation struct {
		MaxTokens int `json:"maxOutputTokens"`
	} `json:"generationConfig"`
	Tools []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

type googleContent struct {
	Role  string       `json:"role"`
	Parts []googlePart `json:"parts"`
}

type googlePart struct {
	Text string `json:"text"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	} `json:"functionResponse"`
	Signature string `json:"thoughtSignature"`
	Inline    *struct {
		MediaType string `json:"mimeType"`
		Data      []byte `json:"data"`
	} `json:"inlineData"`
}

func parseGoogle(r *http.Request) (*model.Request, error) {
	var in googleRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	name, method, _ := strings.Cut(r.PathValue("method"), ":")
	if name == "" || method != "streamGenerateContent" || r.URL.Query().Get("alt") != "sse" {
		return nil, fmt.Errorf("want models/MODEL:streamGenerateContent?alt=sse")
	}
	out := &model.Request{MaxTokens: in.Generation.MaxTokens}
	for _, p := range in.System.Parts {
		out.System += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			out.Tools = append(out.Tools, model.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.Schema})
		}
	}
	var open []*loomv1.ToolCall // that the next content answers
	for i, c := range in.Contents {
		if want := []string{"user", "model"}[i%2]; c.Role != want {
			return nil, fmt.Errorf("contents[%d]: role is %s, want %s", i, c.Role, want)
		}
		messages, calls, err := googleMessages(name, c, open)
		if err != nil {
			return nil, fmt.Errorf("contents[%d]: %w", i, err)
		}
		open = calls
		out.Messages = append(out.Messages, messages...)
	}
	return out, nil
}

// googleMessages takes apart what the protocol puts into one content.
func googleMessages(name string, c googleContent, open []*loomv1.ToolCall) (out []model.Message, calls []*loomv1.ToolCall, err error) {
	said := model.Message{Role: map[string]model.Role{"user": model.RoleUser, "model": model.RoleAssistant}[c.Role]}
	for i, p := range c.Parts {
		switch {
		case p.Call != nil:
			if signs := strings.HasPrefix(name, "gemini-3"); len(said.Calls) == 0 && signs != (p.Signature != "") {
				return nil, nil, fmt.Errorf("function call %s in position %d of %s has thought_signature %q", p.Call.Name, i, name, p.Signature)
			}
			if p.Signature != "" && p.Signature != "context_engineering_is_the_way_to_go" {
				said.Opaque = []byte(p.Signature)
			}
			said.Calls = append(said.Calls, &loomv1.ToolCall{Id: p.Call.ID, Tool: p.Call.Name, Arguments: string(p.Call.Args)})
		case p.Response != nil:
			m, err := googleResult(p, open)
			if err != nil {
				return nil, nil, err
			}
			open = open[1:]
			out = append(out, m)
		case p.Inline != nil && len(out) > 0:
			out[len(out)-1].Picture = model.NewPicture(p.Inline.MediaType, 0, 0, p.Inline.Data)
		default:
			said.Text += p.Text
		}
	}
	if len(open) > 0 {
		return nil, nil, fmt.Errorf("the number of function response parts is not that of the function call parts")
	}
	if len(out) == 0 {
		out = append(out, said)
	}
	return out, said.Calls, nil
}

func googleResult(p googlePart, open []*loomv1.ToolCall) (model.Message, error) {
	r := p.Response
	if len(open) == 0 || open[0].Tool != r.Name || open[0].Id != r.ID {
		return model.Message{}, fmt.Errorf("function response %q of %q answers no call", r.ID, r.Name)
	}
	failure, failed := r.Response["error"]
	return model.Message{Role: model.RoleTool, Call: r.ID, Text: r.Response["output"] + failure, Failed: failed}, nil
}

// googleEvents returns the chunks of a whole answer; the last one ends it.
func googleEvents(r *model.Request, reply Reply) []string {
	var out []string
	chunk := func(part, rest string) {
		out = append(out, fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"parts\":[%s],\"role\":\"model\"}%s,\"modelVersion\":\"gemini-fake\",\"responseId\":\"1\"}\r\n\r\n", part, rest))
	}
	const more = `,"index":0}]`
	chunk(`{"text":""}`, more)
	if reply.Thinking != "" {
		chunk(`{"thought":true,"text":`+quote(reply.Thinking)+`}`, more)
	}
	for _, d := range deltas(reply.Text, `{"text":%s}`) {
		chunk(d, more)
	}
	for i, c := range reply.Calls {
		signature := ""
		if i == 0 && reply.Signature != "" {
			signature = `,"thoughtSignature":` + quote(reply.Signature)
		}
		chunk(fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}%s}`, quote(c.Id), quote(c.Tool), c.Arguments, signature), more)
	}
	u := reported(r, reply)
	chunk(`{"text":""}`, fmt.Sprintf(`,"finishReason":%s,"index":0}],"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d}`,
		quote(googleStop(reply)), u.Input+u.CacheRead, u.CacheRead, u.Output, u.Input+u.CacheRead+u.Output))
	return out
}

func googleStop(reply Reply) string {
	switch reply.Stop {
	case model.StopLength:
		return "MAX_TOKENS"
	case "refusal":
		return "SAFETY"
	}
	return "STOP"
}
