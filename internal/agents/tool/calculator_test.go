package tool_test

import (
	"testing"
)

func TestTOOL04_Calculator(t *testing.T) {
	s, _ := workspace(t, map[string]string{"growth.csv": "Company,Begin,End,Years\nAcme,100,200,5\nBolt,0,10,5\n\"Cog, Inc.\",1000,1500,3\n"})
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"expression": "1234.56 * 15%"}, "result = 185.184\n"},
		{args{"expression": "{unit price} * n", "variables": args{"unit price": "19.99", "n": 3}}, "result = 59.97\n"},
		{args{"expression": "10 / 3", "places": 2}, "result = 3.33\n"},
		{args{"expression": "10 / 3"}, "result = 3.3333333333333333333 rounded\n"},
		{args{"formula": "cagr", "inputs": args{"begin": 9000, "end": 13000, "periods": 3}, "places": 4}, "cagr = 0.1304 (13.0404 %)\n"},
		{
			args{"formula": "growth", "inputs": args{"principal": 100, "rate": 0.15, "periods": 2}},
			"value = 132.25\nperiod,value\n1,115\n2,132.25\n",
		},
		{
			args{"formula": "cagr", "table": args{"path": "growth.csv"}, "columns": args{"begin": "Begin", "end": "End", "periods": "Years"}, "places": 4},
			"row 1 (Acme): cagr = 0.1487\nrow 2 (Bolt): no value: growth from 0 has no rate: begin must be positive\nrow 3 (Cog, Inc.): cagr = 0.1447\n",
		},
		{args{"expression": "End - Begin", "table": args{"path": "growth.csv"}}, "row 1 (Acme): result = 100\nrow 2 (Bolt): result = 10\nrow 3 (Cog, Inc.): result = 500\n"},
		{
			args{"expression": "a * k", "variables": args{"k": 2}, "rows": []args{{"a": 1}, {"a": "$1,000.50"}, {"b": 1}}},
			"row 1: result = 2\nrow 2: result = 2001\nrow 3: no value: character 1: nothing has this name (got \"a\")\n",
		},
		{args{"formula": "roe", "inputs": args{"equity": 200}, "rows": []args{{"net_income": 10}, {"net_income": 20}}}, "row 1: roe = 0.05\nrow 2: roe = 0.1\n"},
	} {
		if r := ok(t, do(t, s, "calculator", tt.args)); r.Output != tt.want {
			t.Errorf("%v\n%s\nwant\n%s", tt.args, r.Output, tt.want)
		}
	}
	for _, tt := range []struct {
		args args
		code string
	}{
		{args{}, "tool/arguments"},
		{args{"expression": "1", "formula": "npv"}, "tool/arguments"},
		{args{"formula": "nvp"}, "calculation/name"},
		{args{"expression": "1", "inputs": args{}}, "tool/arguments"},
		{args{"formula": "npv", "variables": args{}}, "tool/arguments"},
		{args{"expression": "1", "rows": []args{{}}, "table": args{"path": "growth.csv"}}, "tool/arguments"},
		{args{"expression": "1", "table": args{"path": "../x.csv"}}, "tool/outside"},
		{args{"expression": "1", "table": args{"path": "x.csv"}}, "tool/not-found"},
		{args{"expression": "1", "table": args{"path": "x.doc"}}, "tool/arguments"},
		{args{"expression": "1 /"}, "calculation/syntax"},
		{args{"expression": "1 / 0"}, "calculation/domain"},
		{args{"formula": "npv", "inputs": args{"rate": 0.1}}, "calculation/input"},
	} {
		if r := do(t, s, "calculator", tt.args); r.Code != tt.code {
			t.Errorf("%v: %s, want %s", tt.args, r.Output, tt.code)
		}
	}
}
