package fault_test

import (
	"reflect"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
)

// Each name that is offered is one of hone's keys, or a flag of the adapter's shape.
func TestOthersLeadToKeys(t *testing.T) {
	keys := map[string]bool{"lora_rank": true, "base_model": true}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			keys[f.Tag.Get("yaml")] = true
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[config.Config]())
	for other, names := range fault.Others() {
		for _, name := range names {
			if !keys[name] {
				t.Errorf("%s leads to %s, which is no key", other, name)
			}
		}
	}
}
