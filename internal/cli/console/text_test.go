package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestCLI01_TextOfOthersIsPrintable(t *testing.T) {
	for _, tt := range []struct{ in, text, oneLine string }{
		{"plain", "plain", "plain"},
		{"two\nlines\tand a tab", "two\nlines\tand a tab", "two lines and a tab"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m", "[31mred[0m"},
		{"over\rwritten\x08", "overwritten", "overwritten"},
		{"c1 \u009b31m", "c1 31m", "c1 31m"},
		{"evil \u202etxt.exe", "evil txt.exe", "evil txt.exe"},
		{"zero\u200bwidth", "zerowidth", "zerowidth"},
		{"grüße 世界", "grüße 世界", "grüße 世界"},
		{"12345678901234567890", "12345678901234567890", "12345678901234567890"},
		{"123456789012345678901", "123456789012345678901", "1234567890123456789…"},
	} {
		if got := Printable(tt.in); got != tt.text {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.text)
		}
		if got := Line(tt.in, 20); got != tt.oneLine {
			t.Errorf("line(%q, 20) = %q, want %q", tt.in, got, tt.oneLine)
		}
	}
}

// JSON output says the same as the message, and holds nothing that a terminal
// obeys.
func TestCLI01_JSONIsPrintableAndSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goal := strings.ToValidUTF8(string(rapid.SliceOf(rapid.Rune()).Draw(t, "goal")), "?")
		data := JSONOf(&loomv1.Bead{Goal: goal})
		for _, r := range string(data) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("jsonOf(%q) holds %U: %s", goal, r, data)
			}
		}
		var back struct{ Goal string }
		if err := json.Unmarshal(data, &back); err != nil || back.Goal != goal || !utf8.Valid(data) {
			t.Fatalf("jsonOf(%q) = %s, which says %q: %v", goal, data, back.Goal, err)
		}
	})
}

func TestCLI01_TablesAlignAndEndWithoutBlanks(t *testing.T) {
	var b bytes.Buffer
	Table(&b, []string{"bead", "goal"}, [][]string{{"shop-1", "mend"}, {"shop-22", ""}, {"a\tb\x1b[2J", "c\nd"}})
	if want := "BEAD     GOAL\nshop-1   mend\nshop-22\na b[2J   c d\n"; b.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestCLI01_TablesFitAScreen(t *testing.T) {
	heads := []string{"bead", "status", "goal"}
	rows := [][]string{{"shop-1", "in_progress", "合計が五十のときに間違っている"}, {"shop-22", "waiting", "mend the total of orders that are shipped abroad"}}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "BEAD     STATUS       GOAL\nshop-1   in_progress  合計が五十のときに間違っている\nshop-22  waiting      mend the total of orders that are shipped abroad\n"},
		{40, "BEAD     STATUS       GOAL\nshop-1   in_progress  合計が五十のとき…\nshop-22  waiting      mend the total of…\n"},
		{24, "shop-1\n  status  in_progress\n  goal    合計が五十のと\n          きに間違ってい\n          る\nshop-22\n  status  waiting\n  goal    mend the total\n          of orders that\n          are shipped\n          abroad\n"},
	} {
		var b bytes.Buffer
		Table(Folded(&b, tt.width, 0), heads, rows)
		if b.String() != tt.want {
			t.Errorf("in %d columns:\n%s\nwant:\n%s", tt.width, b.String(), tt.want)
		}
		for line := range strings.Lines(b.String()) {
			if n := Columns(strings.TrimSuffix(line, "\n")); tt.width > 0 && n > tt.width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

func TestCLI01_WhoFiledIt(t *testing.T) {
	for want, id := range map[string]*loomv1.Identity{
		"the CEO":                      {Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO},
		"the CEO (phone)":              {Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "phone"},
		"a client without credentials": {Kind: loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS, Name: "anonymous"},
		"a publisher":                  {Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER},
		"billing":                      {Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: "billing"},
		"-":                            nil,
	} {
		if got := Who(id); got != want {
			t.Errorf("who(%v) = %q, want %q", id, got, want)
		}
	}
}

// Where there is little room, digests stay whole: cut, two of them would look the same.
func TestCLI01_ADigestIsNeverCut(t *testing.T) {
	heads, rows := []string{"process", "digest", "why"}, [][]string{{"finance", "20382bb73173", strings.Repeat("why ", 20)}}
	if most, _ := columns(heads, rows, 40); most[1] < 12 || most[2] >= 80 {
		t.Errorf("in 40 columns the cells have at most %v columns", most)
	}
}

// Of two projects neither is silently left out.
func TestCLI01_AProjectIsNamedOnce(t *testing.T) {
	for _, add := range []func(*cobra.Command, *string){ProjectFlag, AnyProjectFlag} {
		for _, tt := range []struct {
			args []string
			want string
			bad  bool
		}{
			{nil, "", false},
			{[]string{"--project", "shop"}, "shop", false},
			{[]string{"--project", "shop", "--project=shop"}, "shop", false},
			{[]string{"--project", "shop", "--project", "bank"}, "", true},
		} {
			var name string
			cmd := &cobra.Command{Use: "list"}
			add(cmd, &name)
			err := cmd.ParseFlags(tt.args)
			if tt.bad {
				if told := BadFlag(cmd, err); fault.Code(told) != "usage/argument" || !strings.Contains(told.Error(), "given twice") {
					t.Errorf("%q: %v", tt.args, told)
				}
				continue
			}
			if err != nil || name != tt.want {
				t.Errorf("%q: %q, %v, want %q", tt.args, name, err, tt.want)
			}
		}
	}
}
