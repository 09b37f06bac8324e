package secret_test

import (
	"testing"

	"github.com/loomrun/loom/internal/net/secret"
)

// A secret is found by its digest, wherever that stands, and another is not.
func TestSEC01_ASecretIsFoundByItsDigest(t *testing.T) {
	shown := []string{secret.New(), secret.New(), secret.New()}
	kept := make([]string, len(shown))
	for i, s := range shown {
		if kept[i] = secret.Digest(s); len(s) != 43 || len(kept[i]) != 64 || kept[i] == s {
			t.Errorf("the secret %q is kept as %q", s, kept[i])
		}
	}
	self := func(s string) string { return s }
	for i, s := range shown {
		if at := secret.Find(kept, self, s); at != i {
			t.Errorf("secret %d is found at %d", i, at)
		}
	}
	for _, s := range []string{"", secret.New(), kept[0]} {
		if at := secret.Find(kept, self, s); at >= 0 {
			t.Errorf("%q is found at %d", s, at)
		}
	}
}
