package calculator_test

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/craft/calculator"
)

// Names have the values that the caller gives; the answer is exact.
func ExampleCompute() {
	r, err := calculator.Compute("units * {unit price} * (1 - 2.5%)", map[string]decimal.Decimal{
		"units": decimal.NewFromInt(1200), "unit price": decimal.RequireFromString("19.99"),
	})
	fmt.Println(r.Value, r.Rounded, err)

	_, err = calculator.Compute("1200 * / 3", nil)
	fmt.Println(err)
	// Output:
	// 23388.3 false <nil>
	// character 8: this does not fit here (got "/")
}

// A formula says all that is wrong with its inputs at once.
func ExampleFormula_Run() {
	irr, _ := calculator.Find("irr")
	a, _ := irr.Run(map[string]json.RawMessage{"flows": json.RawMessage(`[-70000, 12000, 15000, 18000, 21000, 26000]`)})
	for _, v := range a.Values {
		fmt.Println(v.Name, calculator.Format(v.Value, v.Rounded, 6))
	}
	// Output:
	// irr 0.086631
}
