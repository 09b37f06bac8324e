package processes

import "reflect"

// Shape returns the parts of a process file.
func Shape() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[processFile](), reflect.TypeFor[nodeFile](), reflect.TypeFor[configFile](), reflect.TypeFor[gateFile](),
		reflect.TypeFor[backoffFile](), reflect.TypeFor[failureFile](), reflect.TypeFor[reworkFile](), reflect.TypeFor[edgeFile](),
		reflect.TypeFor[guideFile](), reflect.TypeFor[ruleFile](), reflect.TypeFor[memoryTypeFile](), reflect.TypeFor[partFile](), reflect.TypeFor[blueprintFile](),
		reflect.TypeFor[checkoutFile](), reflect.TypeFor[parameterFile](),
	}
}

// PhaseShape returns the parts of a process file with phases.
func PhaseShape() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[phasesFile](), reflect.TypeFor[phaseFile](), reflect.TypeFor[ruleFile](), reflect.TypeFor[hookFile](),
		reflect.TypeFor[hooksFile](), reflect.TypeFor[memoryTypeFile](), reflect.TypeFor[replanningFile](), reflect.TypeFor[analysisFile](),
		reflect.TypeFor[checkoutFile](), reflect.TypeFor[parameterFile](),
	}
}

// PatternShape are the structures of pattern files and of example sessions.
func PatternShape() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[patternFile](), reflect.TypeFor[slotFile](), reflect.TypeFor[questionFile](), reflect.TypeFor[rubricFile](), reflect.TypeFor[stepFile](),
		reflect.TypeFor[ExampleSession](), reflect.TypeFor[ExampleTurn](), reflect.TypeFor[ExampleStep](),
	}
}
