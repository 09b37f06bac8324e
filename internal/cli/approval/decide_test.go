package approval

import (
	"testing"
)

func TestCLI01_DigestsMayBeShort(t *testing.T) {
	const stands = "20382bb731739c468475e82653f73730ca6e62088bbf21be79c5dd670afd3ecb"
	for _, tt := range []struct{ typed, want string }{
		{"", stands},
		{stands, stands},
		{stands[:16], stands},
		{stands[:15], stands[:15]}, // too little to mean it
		{"0123456789abcdef", "0123456789abcdef"},
	} {
		if got := wholeDigest(tt.typed, stands); got != tt.want {
			t.Errorf("wholeDigest(%q) = %q, want %q", tt.typed, got, tt.want)
		}
	}
}
