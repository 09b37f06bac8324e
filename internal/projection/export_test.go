package projection

// Queries are the reads that must be answered by an index.
var Queries = map[string]string{
	"transitions": selectTransitions,
	"history":     selectHistory,
	"active":      selectActive,
}
