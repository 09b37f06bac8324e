// Command schemas writes the JSON Schemas that the deployment files are checked
// against: of Kubernetes' objects from the Go types of its API, of compose files
// from the schema that the compose library carries. It keeps only what the files
// may use, and no descriptions.
//
//	cd tools/schemas && go run . ../../test/deploy/testdata
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/compose-spec/compose-go/v2/schema"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// object is a JSON object.
type object = map[string]any

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemas DIR")
		os.Exit(2)
	}
	for name, make := range map[string]func() (object, error){"kubernetes.schema.json": kubernetes, "compose.schema.json": compose} {
		if err := write(filepath.Join(os.Args[1], name), make); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(path string, make func() (object, error)) error {
	s, err := make()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// kinds are the objects that a deployment is made of.
var kinds = map[string]any{
	"v1/ConfigMap": corev1.ConfigMap{}, "v1/Namespace": corev1.Namespace{}, "v1/Secret": corev1.Secret{}, "v1/Service": corev1.Service{},
	"v1/ServiceAccount": corev1.ServiceAccount{}, "apps/v1/StatefulSet": appsv1.StatefulSet{},
	"networking.k8s.io/v1/NetworkPolicy": networkingv1.NetworkPolicy{}, "policy/v1/PodDisruptionBudget": policyv1.PodDisruptionBudget{},
}

// kubernetes makes a definition of each kind, and of each type in them.
func kubernetes() (object, error) {
	t := types{defs: object{}}
	for name, zero := range kinds {
		typ := reflect.TypeOf(zero)
		group, kind := name[:strings.LastIndex(name, "/")], typ.Name()
		t.of(typ)
		def := t.defs[key(typ)].(object)
		properties := def["properties"].(object)
		properties["apiVersion"], properties["kind"] = object{"const": group}, object{"const": kind}
		def["required"] = append(required(def), "apiVersion", "kind", "metadata")
		delete(properties, "status")
	}
	return object{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": t.defs}, nil
}

func required(def object) []string {
	list, _ := def["required"].([]string)
	return list
}

// types collects definitions of Go types.
type types struct{ defs object }

func key(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return strings.Join(append(path[max(0, len(path)-2):], t.Name()), ".")
}

// of returns the schema of a type.
func (ts *types) of(t reflect.Type) object {
	switch key(t) {
	case "meta.v1.Time", "meta.v1.MicroTime":
		return object{"type": "string"}
	case "util.intstr.IntOrString":
		return object{"type": []string{"integer", "string"}}
	case "api.resource.Quantity":
		return object{"type": []string{"number", "string"}, "pattern": `^[0-9.]+([eE][0-9]+|m|[kKMGTPE]i?)?$`}
	case "meta.v1.FieldsV1", "apimachinery.pkg.runtime.RawExtension":
		return object{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return ts.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": ts.of(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string"}
		}
		return object{"type": "array", "items": ts.of(t.Elem())}
	case reflect.Struct:
		return ts.structure(t)
	}
	panic("no schema of " + t.String())
}

func (ts *types) structure(t reflect.Type) object {
	name := key(t)
	if _, there := ts.defs[name]; !there {
		def := object{"type": "object", "additionalProperties": false}
		ts.defs[name] = def // before its fields, which may lead back to it
		properties := object{}
		var must []string
		ts.fields(t, properties, &must)
		def["properties"] = properties
		if len(must) > 0 {
			def["required"] = must
		}
	}
	return object{"$ref": "#/$defs/" + name}
}

// fields adds the fields of a struct. One that is written even when it is empty
// is required, unless it is a struct whose own fields are all optional.
func (ts *types) fields(t reflect.Type, properties object, must *[]string) {
	for f := range fieldsOf(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (tag == "" || strings.Contains(options, "inline")):
			ts.fields(f.Type, properties, must)
		case tag == "" || tag == "-":
		default:
			properties[tag] = ts.of(f.Type)
			if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
				*must = append(*must, tag)
			}
		}
	}
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// compose returns the schema of compose files without what explains it.
func compose() (object, error) {
	var s object
	if err := json.Unmarshal([]byte(schema.Schema), &s); err != nil {
		return nil, err
	}
	return plain(s).(object), nil
}

// plain takes descriptions out. A property may be called so, too.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case object:
		for name, inner := range v {
			if text, ok := inner.(string); ok && text != "" && (name == "description" || name == "title") {
				delete(v, name)
				continue
			}
			v[name] = plain(inner)
		}
	}
	return v
}
