// Package lazy has values that are made when they are first used: a command that
// needs none of them does not pay for all at its start. Its regular expressions are
// made as internal/lazyregexp of Go is.
//
// It promises that a value is made once, whoever asks first, and that expressions do
// what package regexp promises. In a test program it compiles at once, so that a wrong
// expression fails every test of its package. It never takes an expression that is
// not part of the source, nor a value that depends on when it is made.
package lazy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Regexp is an expression, safe for use by many at once. Its methods are those of
// [regexp.Regexp].
type Regexp struct {
	get func() *regexp.Regexp
}

var atOnce = strings.HasSuffix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), ".test")

// Value returns a function that makes a value at its first call and returns it at each.
func Value[T any](made func() T) func() T { return sync.OnceValue(made) }

// Compile returns the expression, and panics where it is wrong: in a test at once, else
// when it is first used.
func Compile(expression string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
	if atOnce {
		r.get()
	}
	return r
}

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

// Match is that of [regexp.Regexp].
func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

// String is that of [regexp.Regexp].
func (r *Regexp) String() string { return r.get().String() }

// FindStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringIndex(s string) []int { return r.get().FindStringIndex(s) }

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

// FindStringSubmatchIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.get().FindStringSubmatchIndex(s) }

// FindAllString is that of [regexp.Regexp].
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

// FindAllStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(s, with string) string { return r.get().ReplaceAllString(s, with) }

// ReplaceAllStringFunc is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, with)
}
