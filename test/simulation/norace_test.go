//go:build !race

package simulation

// defaultSeeds is what fits into the tests of every day.
const defaultSeeds = 3000
