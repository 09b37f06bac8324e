// Package docs holds the documentation to the code: its lists of codes, kinds
// of notices and subjects are whole, the tests that it names exist, and its
// links lead somewhere. [Part] is for tests elsewhere that write a part of a page from
// what their packages have.
package docs
