package opendata

// ArXivQuery is for tests.
var ArXivQuery = arXivQuery
