// Package chart draws figures: bars, lines, pies, points and waterfalls, as PNG
// and SVG.
//
// It promises that the same chart gives the same bytes; that a picture has a
// title, named axes and a legend where there is more than one series; that
// series can be told apart without seeing colours well; and that what would
// mislead (a pie of negative shares, categories without values) is refused.
//
// It reads no files and no fonts of the machine: the font is in the program.
package chart
