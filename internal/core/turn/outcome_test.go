package turn_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var plainNode = &loomv1.NodeDefinition{Id: "work"}

var objective = &loomv1.NodeDefinition{Id: "planner", Outcome: map[string]string{"plan": "object"}}

var judged = &loomv1.NodeDefinition{Id: "verify", Outcome: map[string]string{"fault": "string"}}

var chosen = &loomv1.NodeDefinition{Id: "triage", Outcome: map[string]string{"severity": "low | high"}}

func TestAGENT07_ParseOutcome(t *testing.T) {
	for _, tt := range []struct {
		node *loomv1.NodeDefinition
		args string
		want string // problems, one a line; "" when there are none
	}{
		{plainNode, `{"status":"success","summary":"done"}`, ""},
		{plainNode, `{"status":"failure","summary":"no","notes":"why","fields":{}}`, ""},
		{plainNode, `{"status":"success","summary":"done","notes":null,"fields":null}`, ""},
		{plainNode, `{"status":"continue","summary":"x"}`, `status: there is no such status here (got "continue"); one of success, failure`},
		{node, `{"status":"continue","summary":"x"}`, ""},
		{node, success, ""},
		{node, `{"status":"failure","summary":"x"}`, ""},
		{node, `{"status":"failure","summary":"x","fields":{"count":1e3}}`, ""},
		{plainNode, `{"status":"Success","summary":"done"}`, `status: there is no such status here (got "Success"); one of success, failure`},
		{plainNode, `{"status":1,"summary":2,"notes":3,"fields":4}`, "status: it must be a string; one of success, failure\nsummary: it must be a string\nnotes: it must be a string\nfields: it must be an object"},
		{plainNode, `{"summary":" \n "}`, "status: it is missing; one of success, failure\nsummary: it is missing or empty"},
		{plainNode, `{"status":"success","sumary":"x"}`, "\"sumary\": there is no such key; did you mean \"summary\"?\nsummary: it is missing or empty"},
		{node, `{"status":"failure","summary":"x","severity":"high"}`, ""},
		{node, `{"status":"success","summary":"x","severity":"high","count":2,"ratio":0.5,"sure":true}`, ""},
		{node, `{"status":"failure","summary":"x","severity":"high","fields":{"count":1}}`, ""},
		{node, `{"status":"failure","summary":"x","severity":"high","fields":{"severity":"low"}}`, `"severity": there is no such key`},
		{judged, `{"status":"success","summary":"x"}`, ""},
		{judged, `{"status":"success","summary":"x","fields":{"fault":3}}`, "fields.fault: it must be of type string"},
		{node, `{"status":"failure","summary":"x","fields":{"severty":"high"}}`, `fields."severty": this task declares no such field; did you mean "severity"?`},
		{
			node, `{"status":"failure","summary":"x","fields":{"severity":1,"count":1.5,"ratio":"x","sure":"true"}}`,
			"fields.count: it must be of type int\nfields.ratio: it must be of type double\nfields.severity: it must be of type string\nfields.sure: it must be of type bool",
		},
		{node, `{"status":"failure","summary":"x","fields":{"count":9007199254740992}}`, ""},
		{node, `{"status":"failure","summary":"x","fields":{"count":9007199254740994}}`, "fields.count: it must be of type int"},
		{node, `{"status":"failure","summary":"x","fields":{"ratio":1e400}}`, "fields.ratio: it must be of type double"},
		{node, `{"status":"failure","summary":"x","fields":{"severity":null}}`, ""},
		{node, `{"status":"success","summary":"x","fields":{"severity":null,"count":1,"ratio":1,"sure":false}}`, "fields.severity: a success gives it; a value that is of type string"},
		{node, `{"status":"failure","summary":"x","fields":{"severity":"` + strings.Repeat("x", 4097) + `"}}`, "fields.severity: it has 4097 bytes; at most 4096 are taken"},
		{objective, `{"status":"success","summary":"x","fields":{"plan":{"why":"w","phases":[{"id":"a","tokens":3}]}}}`, ""},
		{objective, `{"status":"success","summary":"x","fields":{"plan":"{\"why\":\"some models quote it\"}"}}`, ""},
		{objective, `{"status":"success","summary":"x","fields":{"plan":"why: w"}}`, "fields.plan: it must be of type object"},
		{objective, `{"status":"success","summary":"x","fields":{"plan":["w"]}}`, "fields.plan: it must be of type object"},
		{objective, `{"status":"success","summary":"x","fields":{"plan":{"n":1e400}}}`, "fields.plan: it must be of type object: a number in it is out of range"},
		{objective, `{"status":"success","summary":"x","fields":{"plan":{"n":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}}}`, "fields.plan: objects and lists stand in each other deeper than 16"},
		{objective, `{"status":"success","summary":"x","fields":{"plan":{"n":"` + strings.Repeat("x", 32<<10) + `"}}}`, "fields.plan: it has 32776 bytes; at most 32768 are taken"},
		{chosen, `{"status":"success","summary":"x","fields":{"severity":"high"}}`, ""},
		{chosen, `{"status":"success","summary":"x","fields":{"severity":" High "}}`, ""},
		{chosen, `{"status":"success","summary":"x","fields":{"severity":""}}`, ""},
		{chosen, `{"status":"success","summary":"x","fields":{"severity":"urgent"}}`, `fields.severity: it must be one of low, high (got "urgent")`},
		{chosen, `{"status":"success","summary":"x","fields":{"severity":1}}`, "fields.severity: it must be one of low, high"},
		{chosen, `{"status":"success","summary":"x"}`, "fields.severity: a success gives it; a value that is one of low, high"},
		{plainNode, ``, "the arguments are not one JSON object: EOF"},
		{plainNode, `{"status":"success","summary":"x"`, "the arguments are not one JSON object: unexpected EOF"},
		{plainNode, `{"status":"success","summary":"x"}{}`, "the arguments are not one JSON object: something follows the object"},
		{plainNode, `null`, "the arguments are not one JSON object: it is null"},
		{plainNode, `[]`, "the arguments are not one JSON object: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{nil, `{"status":"success","summary":"x"}`, ""},
	} {
		out, err := turn.ParseOutcome(tt.node, tt.args)
		if got := problems(err); got != tt.want || (out == nil) != (tt.want != "") {
			t.Errorf("ParseOutcome %.90s:\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// TestAGENT07_FieldsBesideFieldsCount has what many models write first: the fields
// beside the status. A success names no fault.
func TestAGENT07_FieldsBesideFieldsCount(t *testing.T) {
	for _, tt := range []struct {
		node *loomv1.NodeDefinition
		args string
		want map[string]any
	}{
		{chosen, `{"status":"success","summary":"x","severity":"high"}`, map[string]any{"severity": "high"}},
		{chosen, `{"status":"success","summary":"x","severity":"high","fields":null}`, map[string]any{"severity": "high"}},
		{judged, `{"status":"success","summary":"x"}`, map[string]any{"fault": ""}},
		{judged, `{"status":"failure","summary":"x","fault":"change"}`, map[string]any{"fault": "change"}},
	} {
		out, err := turn.ParseOutcome(tt.node, tt.args)
		if got := out.GetFields().AsMap(); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParseOutcome %s: %v %v, want %v", tt.args, got, err, tt.want)
		}
	}
}

func problems(err error) string {
	if err == nil {
		return ""
	}
	e := fault.From(err)
	lines := []string{e.Error()}
	for _, m := range e.More {
		lines = append(lines, m.Error())
	}
	return strings.Join(lines, "\n")
}

func TestAGENT07_Outcome(t *testing.T) {
	out, err := turn.ParseOutcome(node, `{"status":"success","summary":" found\n the  cause ","notes":"a\u0000b\nc","fields":{"severity":"high","count":2,"ratio":0.5,"sure":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	if out.Summary != "found the cause" || out.Notes != "a\uFFFDb\nc" || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("the outcome is %v", out)
	}
	f := out.Fields.AsMap()
	if f["severity"] != "high" || f["count"] != 2.0 || f["ratio"] != 0.5 || f["sure"] != true || len(f) != 4 {
		t.Errorf("the fields are %v", f)
	}
}

// What ParseOutcome takes fits the schema of finish. The schema is the same at
// every node, so what a node says of statuses and fields it leaves to ParseOutcome.
func TestAGENT07_FinishTool(t *testing.T) {
	tool := turn.FinishTool()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(tool.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("finish", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("finish")
	for args, fits := range map[string]bool{
		success: true, `{"status":"failure","summary":"x"}`: true,
		`{"status":"failure","summary":"x","fields":{"count":1.5}}`: true, `{"status":"failure","summary":"x","fields":{"other":1}}`: true,
		`{"status":"x","summary":"x"}`: false, `{"summary":"x"}`: false, `{"status":"failure","summary":"x","more":1}`: false,
		`{"status":"failure","summary":1}`: false, `{"status":"failure","summary":"x","fields":[]}`: false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		bySchema := schema.Validate(v)
		if (bySchema == nil) != fits {
			t.Errorf("%s: the schema says %v, want that it fits: %t", args, bySchema, fits)
		}
		if _, err := turn.ParseOutcome(node, args); err == nil && bySchema != nil {
			t.Errorf("%s: ParseOutcome takes it, the schema says %v", args, bySchema)
		}
	}
}

// Whatever a model writes: no panic, and what is taken fits the node.
func FuzzParseOutcome(f *testing.F) {
	for _, s := range []string{success, `{}`, `null`, `{"status":"continue","summary":"x","fields":{"count":-0}}`, `{"status":"failure","summary":"\ud800"}`, `{"fields":{"count":1e309}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		out, err := turn.ParseOutcome(node, args)
		if (out == nil) == (err == nil) {
			t.Fatalf("%v, %v", out, err)
		}
		if err != nil {
			if fault.Code(err) != "outcome/invalid" {
				t.Errorf("code %q", fault.Code(err))
			}
			return
		}
		if out.Summary == "" || strings.ContainsAny(out.Summary, "\n\x00") || !json.Valid([]byte(args)) {
			t.Errorf("%q was taken as %v", args, out)
		}
		if _, err := proto.Marshal(out); err != nil {
			t.Errorf("%q cannot be written: %v", args, err)
		}
		for k, v := range out.Fields.GetFields() {
			if n := v.GetNumberValue(); node.Outcome[k] == "" || math.IsInf(n, 0) || node.Outcome[k] == "int" && n != math.Trunc(n) {
				t.Errorf("%q gave the field %s %v", args, k, v)
			}
		}
		if out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS && len(out.Fields.GetFields()) != len(node.Outcome) {
			t.Errorf("%q is a success without all fields", args)
		}
	})
}
