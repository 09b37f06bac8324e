package verify

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what a rule is told.
const (
	maxTexts = 64  // entries of a list
	maxTold  = 200 // bytes of a text
	day      = "2006-01-02"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// unfit says why a value is not of a parameter's form, and what would be; "" if it is.
func (p Param) unfit(v any) (why, hint string) {
	switch p.Form {
	case "number", "share", "count":
		n, ok := v.(float64)
		switch {
		case !ok:
			return "is not a number", "write it in decimal, as 0.5"
		case p.Form != "number" && n < 0:
			return "is less than 0", "write a number from 0"
		case p.Form == "count" && (n != math.Trunc(n) || n > 1e9):
			return "is not a whole number", "write a plain decimal number"
		}
	case "text":
		if s, ok := v.(string); !ok || strings.TrimSpace(s) == "" || len(s) > maxTold {
			return "is not a text", fmt.Sprintf("write one of at most %d bytes", maxTold)
		}
	case "texts":
		list, ok := v.([]any)
		wrong := func(e any) bool {
			s, ok := e.(string)
			return !ok || strings.TrimSpace(s) == "" || len(s) > maxTold
		}
		if !ok || len(list) == 0 || len(list) > maxTexts || slices.ContainsFunc(list, wrong) {
			return "is not a list of texts", fmt.Sprintf("write it as [a, b], with at most %d entries", maxTexts)
		}
	case "truth":
		if _, ok := v.(bool); !ok {
			return "is not a boolean", "write true or false"
		}
	case "day":
		s, _ := v.(string)
		if _, err := time.Parse(day, s); err != nil {
			return "is not a day", "write it as 2026-01-31"
		}
	case "schema":
		if _, ok := v.(map[string]any); !ok {
			return "is not a mapping", "write the schema as YAML, as {type: object}"
		}
	}
	return "", ""
}

// told reads what a rule is told, which was validated.
type told map[string]any

func toldOf(r *loomv1.Rule) told { return r.GetWith().AsMap() }

// number is the value of a key, or otherwise.
func (t told) number(key string, otherwise float64) float64 {
	if n, ok := t[key].(float64); ok {
		return n
	}
	return otherwise
}

func (t told) has(key string) bool { _, ok := t[key]; return ok }

func (t told) text(key, otherwise string) string {
	if s, ok := t[key].(string); ok {
		return s
	}
	return otherwise
}

func (t told) truth(key string, otherwise bool) bool {
	if b, ok := t[key].(bool); ok {
		return b
	}
	return otherwise
}

func (t told) texts(key string) (list []string) {
	entries, _ := t[key].([]any)
	for _, e := range entries {
		if s, ok := e.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// day is the value of a key; ok is false where there is none.
func (t told) day(key string) (at time.Time, ok bool) {
	at, err := time.Parse(day, t.text(key, ""))
	return at, err == nil
}

// spell writes what a rule is told in one line, as its author did.
func (k *Kind) spell(t told) string {
	var parts []string
	for _, p := range k.Params {
		if v, ok := t[p.Name]; ok {
			parts = append(parts, p.Name+" "+spellValue(v))
		}
	}
	return strings.Join(parts, ", ")
}

func spellValue(v any) string {
	switch v := v.(type) {
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, fmt.Sprintf("%q", fmt.Sprint(e)))
		}
		return strings.Join(list, " ")
	case map[string]any:
		return "as " + jsonText(v)
	case float64:
		return number64(v)
	}
	return fmt.Sprint(v)
}

// number64 spells a number as people write it.
func number64(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", v), "0"), ".")
}
