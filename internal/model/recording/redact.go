package recording

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretName is what the names of variables with secrets look like.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$`)

// shortest is the length of the shortest value that is taken for a secret.
const shortest = 8

// Redactor returns a function that takes the values of an environment's secrets
// out of a text, as "NAME=VALUE" has them: as they are, in JSON, in base64, in
// hexadecimal and in addresses.
func Redactor(env []string) func(string) string {
	type secret struct{ name, form string }
	var all []secret
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !secretName.MatchString(name) || len(value) < shortest {
			continue
		}
		for _, form := range forms(value) {
			all = append(all, secret{name, form})
		}
	}
	slices.SortFunc(all, func(a, b secret) int { // the longest first: one may be part of another
		return cmp.Or(cmp.Compare(len(b.form), len(a.form)), strings.Compare(a.form, b.form), strings.Compare(a.name, b.name))
	})
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s.form, "[redacted "+s.name+"]")
	}
	if len(pairs) == 0 {
		return func(s string) string { return s }
	}
	r := strings.NewReplacer(pairs...)
	return r.Replace
}

func forms(value string) []string {
	list := []string{
		value, hex.EncodeToString([]byte(value)), url.QueryEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawStdEncoding.EncodeToString([]byte(value)),
		base64.URLEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	if quoted, err := json.Marshal(value); err == nil {
		list = append(list, string(quoted[1:len(quoted)-1]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
