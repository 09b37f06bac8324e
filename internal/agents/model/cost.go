package model

// Priced is a provider that knows what its model costs.
type Priced interface {
	// MostCost returns the most that a call costs which takes so many tokens and
	// gives so many, in micro-dollars, and false where the price is not known.
	MostCost(input, output uint64) (microUSD uint64, known bool)
}

// MostCost returns what a call of p costs at most, in micro-dollars, or 0 where
// that is not known.
func MostCost(p Provider, input, output uint64) uint64 {
	if m, ok := p.(Priced); ok {
		cost, _ := m.MostCost(input, output)
		return cost
	}
	return 0
}

// MostCost returns the price of the dearest in the chain: any of them may answer.
func (c chain) MostCost(input, output uint64) (most uint64, known bool) {
	known = true
	for _, p := range c {
		m, ok := p.(Priced)
		if !ok {
			known = known && p.Scripted()
			continue
		}
		cost, sure := m.MostCost(input, output)
		most, known = max(most, cost), known && sure
	}
	return most, known
}
