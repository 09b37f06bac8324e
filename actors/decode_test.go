package actors_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const asJSON = "application/json; charset=utf-8"

func ExampleDecode() {
	err := actors.Decode("application/json", []byte("{\"goal\": \"g\",\n \"priorty\": 1}"), &loomv1.Submission{})
	fmt.Println(err)
	// Output:
	// body:2:2: Submission has no such field (got "priorty"); did you mean "priority"?
}

func TestSUB03_DecodeSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{``, `body:1:1: body is not the JSON of Submission: not expected here (got "") [submit/malformed]`},
		{`{`, `body: body is not the JSON of Submission: it ends before it is whole [submit/malformed]`},
		{`{"goal":"\ud800"}`, `body: a text has half of a pair of surrogates, which is no character; both halves, as in \ud83d\ude00, or leave it out [submit/malformed]`},
		{`{"goal":"\ud800\u0041 x"}`, `body: a text has half of a pair of surrogates, which is no character; both halves, as in \ud83d\ude00, or leave it out [submit/malformed]`},
		{`nope`, `body:1:1: body is not the JSON of Submission: not expected here (got "nope") [submit/malformed]`},
		{`[]`, `body:1:1: body is not the JSON of Submission: not expected here (got "[") [submit/malformed]`},
		{`{"goal":"a"} x`, `body:1:14: body is not the JSON of Submission: not expected here (got "x") [submit/malformed]`},
		{`{"goal":1}`, `body:1:9: goal is not a value of type string (got "1") [submit/malformed]`},
		{`{"priority":"HUGE"}`, `body:1:13: priority is not a value of type enum (got "HUGE"); known are PRIORITY_URGENT, PRIORITY_NORMAL, PRIORITY_LOW [submit/malformed]`},
		{`{"type":"BEAD_TYPE_BUGG"}`, `body:1:9: type is not a value of type enum (got "BEAD_TYPE_BUGG"); did you mean "BEAD_TYPE_BUG"? [submit/malformed]`},
		{`{"deadline":"soon"}`, `body:1:13: not a Timestamp (got "soon") [submit/malformed]`},
		{`{"goal":"a","goal":"b"}`, `body:1:13: field is given twice (got "goal") [submit/malformed]`},
		{`{"gaol":"a"}`, `body:1:2: Submission has no such field (got "gaol"); did you mean "goal"? [submit/unknown-field]`},
		{`{"budget":{"tokns":1}}`, `body:1:12: Submission has no such field (got "tokns"); did you mean "tokens"? [submit/unknown-field]`},
		{`{"zzz":1}`, `body:1:2: Submission has no such field (got "zzz") [submit/unknown-field]`},
		{"{\"goal\":\"\xff\"}", `body:1:9: body is not the JSON of Submission: invalid UTF-8 in string [submit/malformed]`},
	} {
		err := actors.Decode(asJSON, []byte(tt.body), &loomv1.Submission{})
		if got := fmt.Sprintf("%v [%s]", err, fault.Code(err)); got != tt.want {
			t.Errorf("Decode(%q)\n got %s\nwant %s", tt.body, got, tt.want)
		}
	}
}

// The edge itself is accepted.
func TestSUB03_DecodeLimits(t *testing.T) {
	for _, tt := range []struct {
		bytes int
		code  string
	}{{actors.MaxSubmission, ""}, {actors.MaxSubmission + 1, "submit/too-large"}} {
		const around = len(`{"description":""}`)
		body := `{"description":"` + strings.Repeat("x", tt.bytes-around) + `"}`
		if err := actors.Decode(asJSON, []byte(body), &loomv1.Submission{}); fault.Code(err) != tt.code {
			t.Errorf("Decode of %d bytes: %.200v, want %q", len(body), err, tt.code)
		}
	}
}

// A field that this release does not know is refused wherever it stands.
func TestSUB03_DecodeRefusesUnknownFieldsInProtobuf(t *testing.T) {
	extra := protowire.AppendString(protowire.AppendTag(nil, 9999, protowire.BytesType), "x")
	budget := &loomv1.Budget{Tokens: 1}
	budget.ProtoReflect().SetUnknown(extra)
	within, err := proto.Marshal(&loomv1.Submission{Goal: "g", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"at the top": extra, "within a message": within} {
		if err := actors.Decode("", body, &loomv1.Submission{}); fault.Code(err) != "submit/unknown-field" {
			t.Errorf("Decode with an unknown field %s: %v, want submit/unknown-field", name, err)
		}
	}
	sound, err := proto.Marshal(&loomv1.Submission{Goal: "g"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"", "application/protobuf", "application/json", "nonsense;;"} {
		got := &loomv1.Submission{}
		err := actors.Decode(kind, sound, got)
		if isJSON := kind == "application/json"; (err == nil) == isJSON || err == nil && got.Goal != "g" {
			t.Errorf("Decode of protobuf as %q: %v, %v", kind, got, err)
		}
	}
}

// Whatever is sent, an error has a code, is printable, and echoes little of it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"goal":"g"}`, `{"` + strings.Repeat("x", 500) + `":1}`, `{"goal":` + strings.Repeat("9", 500) + `}`, "\x0a\x01g", "{\"\u009b\x1b\u202e\":1}", strings.Repeat(`{"context":`, 200)} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, json bool) {
		kind := ""
		if json {
			kind = asJSON
		}
		err := actors.Decode(kind, body, &loomv1.Submission{})
		if err == nil {
			return
		}
		e := fault.From(err)
		if code := fault.Code(err); code != "submit/malformed" && code != "submit/unknown-field" && code != "submit/too-large" {
			t.Errorf("Decode(%q): %v with code %q", body, err, code)
		}
		if len(e.Value) > 80 || len(e.Message) > 200 || len(err.Error()) > 500 {
			t.Errorf("Decode(%.100q) echoes too much: %v", body, err)
		}
		for _, r := range err.Error() {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("Decode(%.100q): %q holds %U", body, err, r)
			}
		}
	})
}
