//go:build race

package workflow_test

// defaultSeeds is small under the race detector, which has nothing to find in
// a core without goroutines and makes the simulation thirty times slower.
const defaultSeeds = 100
