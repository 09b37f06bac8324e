// Package docs holds the documentation to the code: its lists of codes, kinds
// of notices and subjects are whole, the tests that it names exist, and its
// links lead somewhere. It has no code of its own.
package docs
