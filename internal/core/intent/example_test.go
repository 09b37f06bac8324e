package intent_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/core/intent"
)

// What a model may ask a person who wants a name for a bakery.
func ExampleGovernor() {
	g := intent.NewGovernor([]string{"I need a name for our bakery."}, nil)
	for _, question := range []string{
		"Who will hear the name first?",
		"How about Golden Crust?",
		"Should it be funny or serious?",
	} {
		v := g.Judge(question)
		fmt.Printf("%s %q\n", question, v.Rule)
	}
	// Output:
	// Who will hear the name first? ""
	// How about Golden Crust? "proposal"
	// Should it be funny or serious? "option"
}
