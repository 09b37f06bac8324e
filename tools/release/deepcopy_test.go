package main

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/tiendc/go-deepcopy"
	"github.com/xuri/excelize/v2"
)

// TestACopySharesNothing copies a value of every kind and changes the source.
func TestACopySharesNothing(t *testing.T) {
	type part struct{ Numbers []int }
	type whole struct {
		Name  string
		Width *float64
		Parts []*part
		Named map[string]part
		Two   [2]part
		None  *part
		Empty []int
		count int
	}
	of := func() whole {
		width := 12.5
		return whole{
			"a", &width, []*part{{[]int{1, 2}}, nil}, map[string]part{"x": {[]int{3}}}, [2]part{{[]int{4}}, {}}, nil, []int{}, 7,
		}
	}
	source := of()
	var made, again whole
	if err := errors.Join(deepcopy.Copy(&made, source), deepcopy.Copy(&again, &source)); err != nil {
		t.Fatal(err)
	}
	*source.Width = 1
	source.Parts[0].Numbers[0] = 9
	source.Named["x"].Numbers[0] = 9
	source.Two[0].Numbers[0] = 9
	if !reflect.DeepEqual(made, of()) || !reflect.DeepEqual(again, of()) {
		t.Errorf("the copies are\n%+v\n%+v", made, again)
	}
	for name, err := range map[string]error{
		"another type":        deepcopy.Copy(&made, "a"),
		"not a pointer":       deepcopy.Copy(made, source),
		"nothing":             deepcopy.Copy(&made, nil),
		"an interface":        deepcopy.Copy(new(struct{ E error }), struct{ E error }{}),
		"a hidden reference":  deepcopy.Copy(new(struct{ s []int }), struct{ s []int }{}),
		"a nil destination":   deepcopy.Copy((*int)(nil), 1),
		"a nil of its source": deepcopy.Copy(&made, (*whole)(nil)),
	} {
		if !errors.Is(err, deepcopy.ErrTypeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAWorkbookKeepsItsColumns writes a workbook with the copy that a released
// program has.
func TestAWorkbookKeepsItsColumns(t *testing.T) {
	book := excelize.NewFile()
	for column, width := range map[string]float64{"A": 10, "B": 20, "C": 20, "D": 30} {
		if err := book.SetColWidth("Sheet1", column, column, width); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.SetColVisible("Sheet1", "C", false); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := book.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := excelize.OpenReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	for column, width := range map[string]float64{"A": 10, "B": 20, "C": 20, "D": 30} {
		if got, err := read.GetColWidth("Sheet1", column); err != nil || got != width {
			t.Errorf("column %s has the width %v, want %v: %v", column, got, width, err)
		}
		if seen, err := read.GetColVisible("Sheet1", column); err != nil || seen != (column != "C") {
			t.Errorf("column %s is seen: %v, %v", column, seen, err)
		}
	}
}
