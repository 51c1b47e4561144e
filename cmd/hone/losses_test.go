package main

import (
	"reflect"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
)

// grpo.loss may be each loss there is but that of demonstrations, and each is found.
func TestLossesOfTheConfiguration(t *testing.T) {
	field, _ := reflect.TypeFor[config.GRPO]().FieldByName("Loss")
	var names []string
	for _, loss := range batch.Losses() {
		if _, err := objective.Of(batch.Objective{Loss: loss}); err != nil {
			t.Error(err)
		}
		if loss != batch.LossLikelihood {
			names = append(names, string(loss))
		}
	}
	if got, want := field.Tag.Get("enum"), strings.Join(names, ","); got != want {
		t.Errorf("the configuration has %q, there are %q", got, want)
	}
}
