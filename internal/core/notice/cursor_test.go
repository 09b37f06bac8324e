package notice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ExampleFormatCursor() {
	c, _ := notice.ParseCursor("2.1.17.3,0.1.42.0")
	fmt.Println(notice.FormatCursor(c))
	c = notice.Advance(c, &loomv1.Position{Partition: 1, Epoch: 1, Sequence: 5})
	c = notice.Advance(c, &loomv1.Position{Partition: 2, Epoch: 1, Sequence: 18})
	fmt.Println(notice.FormatCursor(c))
	// Output:
	// 0.1.42.0,2.1.17.3
	// 0.1.42.0,1.1.5.0,2.1.18.0
}

func TestBYD01_ACursorSurvivesBeingText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &loomv1.Cursor{}
		for _, p := range rapid.SliceOfNDistinct(rapid.Uint32(), 1, 64, rapid.ID).Draw(t, "partitions") {
			c = notice.Advance(c, &loomv1.Position{Partition: p, Epoch: rapid.Uint64().Draw(t, "epoch"), Sequence: rapid.Uint64().Draw(t, "seq"), Index: rapid.Uint32().Draw(t, "index")})
		}
		got, err := notice.ParseCursor(notice.FormatCursor(c))
		if diff := cmp.Diff(c, got, protocmp.Transform()); err != nil || diff != "" {
			t.Fatalf("ParseCursor(%s): %v (-want +got):\n%s", notice.FormatCursor(c), err, diff)
		}
	})
}

func TestBYD01_ParseCursor(t *testing.T) {
	var most, tooMany []string
	for i := range 65 {
		tooMany = append(tooMany, fmt.Sprintf("%d.1.1.0", i))
	}
	most = tooMany[:64]
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"", true},
		{"0.1.42.0", true},
		{"3.1.42.0,0.1.1.0", true},
		{strings.Join(most, ","), true},
		{strings.Join(tooMany, ","), false},
		{"0.1.42.0,0.1.43.0", false},
		{"0.1.42.0,", false},
		{",", false},
		{"0.1.42.0, 1.1.1.0", false},
		{"0.1.42", false},
		{"*", false},
	} {
		if _, err := notice.ParseCursor(tt.text); (err == nil) != tt.ok || err != nil && fault.Code(err) != "id/malformed" {
			t.Errorf("ParseCursor(%.80q) = %v, want it read: %t", tt.text, err, tt.ok)
		}
	}
}
