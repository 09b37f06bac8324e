//go:build !race

package workflow_test

const defaultSeeds = 2000
