package search

// ReadDuckDuckGo is the reader of DuckDuckGo's page.
var ReadDuckDuckGo = readDuckDuckGo
