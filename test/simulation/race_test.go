//go:build race

package simulation

// defaultSeeds is small under the race detector, which has nothing to find in
// cores without goroutines and makes them many times slower.
const defaultSeeds = 60

// defaultBubbles is how many seeds the real actors get.
const defaultBubbles = 5
