package main

import (
	"reflect"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
)

// enum is what the configuration takes for a field.
func enum[T any](field string) string {
	f, _ := reflect.TypeFor[T]().FieldByName(field)
	return f.Tag.Get("enum")
}

func joined[S ~string](names []S) string {
	var list []string
	for _, n := range names {
		list = append(list, string(n))
	}
	return strings.Join(list, ",")
}

// The configuration may name each loss but that of demonstrations, each advantage, and so on; each loss is found.
func TestLossesOfTheConfiguration(t *testing.T) {
	for _, loss := range batch.Losses() {
		if _, err := objective.Of(batch.Objective{Loss: loss}); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ key, got, want string }{
		{"loss", enum[config.GRPO]("Loss"), joined(batch.Losses()[1:]) + ",raft"}, {
			"advantage",
			enum[config.GRPO]("Advantage"),
			joined([]batch.Advantage{batch.AdvantageGroup, batch.AdvantageCentred, batch.AdvantageLeaveOneOut,
				batch.AdvantageBatch, batch.AdvantagePerTerm}),
		},
		{"kl.estimator", enum[config.KL]("Estimator"), joined([]batch.Estimator{batch.K1, batch.K2, batch.K3})}, {
			"kl.gradient", enum[config.KL]("Gradient"), joined([]batch.Gradient{batch.GradientOwn, batch.GradientK2,
				batch.GradientRatio}),
		},
		{"correction.level", enum[config.Correction]("Level"),
			joined([]batch.Level{batch.LevelNone, batch.LevelToken, batch.LevelSequence, batch.LevelGeometric})},
		{"correction.mode", enum[config.Correction]("Mode"), joined([]batch.Mode{batch.ModeTruncate, batch.ModeMask})},
	} {
		if c.got != c.want {
			t.Errorf("grpo.%s may be %q, there are %q", c.key, c.got, c.want)
		}
	}
}
