// Package deepcopy stands in for the module of the same name in a released program.
//
// The spreadsheet library copies a description of a column with it. The module itself
// also calls methods by names that it finds out while it runs, and one such call
// makes Go's linker keep every exported method of every type in the program: 11 MB
// of it. This package copies what the library copies and calls no methods.
//
// It promises that a copy shares nothing with its source. It never copies between
// types, and refuses what it cannot copy: functions, channels, interfaces, and
// unexported fields that could be shared.
package deepcopy

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrTypeInvalid is the error for values that are not copied.
var ErrTypeInvalid = errors.New("not a type that is copied")

// Copy makes *dst a copy of src, or of *src, that shares nothing with it.
func Copy(dst, src any) error {
	to, from := reflect.ValueOf(dst), reflect.ValueOf(src)
	if to.Kind() != reflect.Pointer || to.IsNil() || !from.IsValid() {
		return fmt.Errorf("%w: %T from %T", ErrTypeInvalid, dst, src)
	}
	if from.Kind() == reflect.Pointer && from.Type() == to.Type() && !from.IsNil() {
		from = from.Elem()
	}
	to = to.Elem()
	if to.Type() != from.Type() {
		return fmt.Errorf("%w: %T from %T", ErrTypeInvalid, dst, src)
	}
	made, err := clone(from)
	if err == nil {
		to.Set(made)
	}
	return err
}

// clone copies a value with all that it refers to.
func clone(v reflect.Value) (reflect.Value, error) {
	made := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Struct:
		made.Set(v)
		return made, fields(made, v)
	case reflect.Array:
		return made, elements(made, v)
	case reflect.Slice:
		if v.IsNil() {
			return made, nil
		}
		made.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		return made, elements(made, v)
	case reflect.Map:
		return made, entries(made, v)
	case reflect.Pointer:
		if v.IsNil() {
			return made, nil
		}
		what, err := clone(v.Elem())
		if err == nil {
			made.Set(reflect.New(v.Type().Elem()))
			made.Elem().Set(what)
		}
		return made, err
	}
	if !plain(v.Type()) {
		return made, fmt.Errorf("%w: %s", ErrTypeInvalid, v.Type())
	}
	made.Set(v)
	return made, nil
}

func fields(made, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			if !plain(field.Type) {
				return fmt.Errorf("%w: %s.%s", ErrTypeInvalid, v.Type(), field.Name)
			}
			continue
		}
		part, err := clone(v.Field(i))
		if err != nil {
			return err
		}
		made.Field(i).Set(part)
	}
	return nil
}

func elements(made, v reflect.Value) error {
	for i := range v.Len() {
		part, err := clone(v.Index(i))
		if err != nil {
			return err
		}
		made.Index(i).Set(part)
	}
	return nil
}

func entries(made, v reflect.Value) error {
	if v.IsNil() {
		return nil
	}
	made.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
	for each := v.MapRange(); each.Next(); {
		key, err := clone(each.Key())
		if err != nil {
			return err
		}
		value, err := clone(each.Value())
		if err != nil {
			return err
		}
		made.SetMapIndex(key, value)
	}
	return nil
}

// plain says whether an assignment of the type shares nothing.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !plain(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return false
	}
	return true
}
