package projection

// Queries are the reads that must be answered by an index.
var Queries = map[string]string{
	"transitions": selectTransitions,
	"history":     selectHistory,
	"active":      selectActive,
}

// Current is what current_node_id says.
var Current = current
