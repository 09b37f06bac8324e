// Package statistics describes columns of numbers: summaries, trends,
// correlations and linear regressions.
//
// It promises that sums and means are exact before they are rounded, that
// regressions are solved by orthogonal factors and refused when the columns
// depend on each other too closely for the digits there are, and that every
// figure comes with the number of values it rests on. What has too few values
// is refused, never guessed.
//
// It says nothing of causes, and tests no assumptions: p-values are those of
// independent, normal errors.
package statistics
