package condition

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// costs counts what CEL takes for one step because it learns the operands'
// types only when it runs, as those of the context: joining and comparing
// texts, and looking for something in a list.
type costs struct{}

func (costs) CallCost(function, overload string, args []ref.Val, _ ref.Val) *uint64 {
	if overload != "" {
		return nil // CEL knows
	}
	cost := uint64(1)
	for _, arg := range args {
		switch v := arg.(type) {
		case types.String:
			cost += uint64(len(v)) / 10
		case types.Bytes:
			cost += uint64(len(v)) / 10
		case traits.Lister:
			if n, ok := v.Size().(types.Int); ok && function == operators.In {
				cost += uint64(n)
			}
		}
	}
	return &cost
}
