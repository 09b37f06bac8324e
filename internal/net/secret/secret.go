// Package secret makes the secrets that tokens, sessions and their links are known by,
// and finds the one that somebody shows.
//
// It promises that a secret cannot be guessed, that its digest is all that has to be
// kept, and that looking one up takes the same time whether or not there is one like it.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
)

// New returns 32 random bytes in 43 characters of URL-safe base64.
func New() string { return base64.RawURLEncoding.EncodeToString(Random(32)) }

// Random returns n random bytes.
func Random(n int) []byte {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // it never fails
	return raw
}

// Digest is the lower-case hex SHA-256 of a secret.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Find compares a secret with the digest of each entry, whatever it finds, and returns
// the place of its own, or -1.
func Find[T any](all []T, digest func(T) string, secret string) int {
	own := []byte(Digest(secret))
	found := -1
	for i, one := range all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(own, []byte(digest(one))), i, found)
	}
	return found
}
