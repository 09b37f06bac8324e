// Repomap measures the map of a repository on the history of one that somebody
// else wrote.
//
//	git clone https://github.com/gohugoio/hugo /tmp/hugo
//	go run ./bench/repomap -repository /tmp/hugo -fixes 30
//
// It takes the newest commits whose subject speaks of a fix or a bug and that
// change one to three files of source (and any tests and documents), goes back
// to the commit before each, and asks for the map with nothing but the commit's
// message. A hit is a fix of which a changed file of source is among the first
// 20 of the ranking. Beside it stand two simpler orders: names of files that hold
// words of the message, the shallow ones first, and the number of words of the
// message that a file holds.
//
// All is done twice, with the message as it is and without anything in it that
// looks like the name of a file. Times are of one processor; memory is what the
// process takes at its peak.
package main
