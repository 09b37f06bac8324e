package reading

import (
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL04_ADiffInAnyEncodingIsShown has a change of a file in Latin-1: the
// answer of the inbox could not be sent, so that nobody could approve it.
func TestREAL04_ADiffInAnyEncodingIsShown(t *testing.T) {
	view := &loomv1.View{Diff: validText([]byte("+gr\xfc\xdfe\n+\xc3\xbc\n"))}
	if _, err := proto.Marshal(view); err != nil {
		t.Fatal(err)
	}
	if want := "+gr\uFFFDe\n+\u00fc\n"; view.Diff != want {
		t.Errorf("the diff is %q, want %q", view.Diff, want)
	}
}
