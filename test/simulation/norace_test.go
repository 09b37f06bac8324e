//go:build !race

package simulation

// defaultSeeds is what fits into the tests of every day.
const defaultSeeds = 4000

// defaultBubbles is how many seeds the real actors get.
const defaultBubbles = 20
