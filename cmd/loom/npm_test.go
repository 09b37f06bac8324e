//go:build clients

package main

import "testing"

// TestCLI01_NpmStories runs the stories that need node and npm.
func TestCLI01_NpmStories(t *testing.T) { stories(t, "testdata/npm") }
