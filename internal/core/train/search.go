package train

// Search finds how much of a train may land. It is a value: [Search.Seen] returns
// what is known afterwards.
type Search struct {
	cars int
	good int // so many from the front passed together, or need no test
	bad  int // so many from the front failed together; cars+1 while none have
}

// NewSearch begins to look at a train. So many cars from the front are known to
// be good already: 1 when the first lies verified on the target, else 0.
func NewSearch(cars, good int) Search {
	return Search{cars: cars, good: min(good, cars), bad: cars + 1}
}

// Next returns how many cars from the front are to be tested together. It is
// false when all is known that is needed.
func (s Search) Next() (cars int, more bool) {
	switch {
	case s.bad-s.good <= 1:
		return 0, false
	case s.bad > s.cars:
		return s.cars, true // most trains are sound: all at once
	}
	return (s.good + s.bad) / 2, true
}

// Seen returns the search with what a test has shown of so many cars from the
// front. What Next has not asked for changes nothing.
func (s Search) Seen(cars int, passed bool) Search {
	if next, more := s.Next(); !more || cars != next {
		return s
	}
	if passed {
		s.good = cars
	} else {
		s.bad = cars
	}
	return s
}

// Good returns how many cars from the front may land.
func (s Search) Good() int { return s.good }

// Culprit returns the place, from 0, of the car with which the tests began to
// fail. It is false for a train that is sound, and before that is known.
func (s Search) Culprit() (place int, found bool) {
	return s.good, s.bad <= s.cars && s.bad == s.good+1
}
