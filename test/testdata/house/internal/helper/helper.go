// Package helper is a word that says nothing.
package helper
