package lazy_test

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/base/lazy"
)

// TestAnExpressionIsThatOfPackageRegexp compares every method.
func TestAnExpressionIsThatOfPackageRegexp(t *testing.T) {
	const form, text = `(\w)(\d)`, "a1 b2, c3"
	lazy, eager := reflect.ValueOf(lazy.Compile(form)), reflect.ValueOf(regexp.MustCompile(form))
	args := map[string][]any{"Match": {[]byte(text)}, "String": {}, "ReplaceAllString": {text, "$2$1"}, "ReplaceAllStringFunc": {text, strings.ToUpper}}
	for i := range lazy.NumMethod() {
		name := lazy.Type().Method(i).Name
		given, is := args[name]
		if !is {
			given = []any{text, -1}[:eager.MethodByName(name).Type().NumIn()]
		}
		var in []reflect.Value
		for _, a := range given {
			in = append(in, reflect.ValueOf(a))
		}
		got, want := lazy.Method(i).Call(in)[0].Interface(), eager.MethodByName(name).Call(in)[0].Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestAWrongExpressionFailsItsTests: a test program sees it before anybody uses it.
func TestAWrongExpressionFailsItsTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is taken")
		}
	}()
	lazy.Compile("(")
}

// TestManyUseAnExpressionAtOnce runs with the race detector.
func TestManyUseAnExpressionAtOnce(t *testing.T) {
	r := lazy.Compile("a+")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if r.FindString("baa") != "aa" {
				t.Error("aa is not found")
			}
		})
	}
	all.Wait()
}
