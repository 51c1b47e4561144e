package basemodel

import (
	"os"
	"path/filepath"
	"testing"
)

// A model's folder says at what temperature it is sampled; one that does not, or a file, has what thinking models have.
func TestTemperatureOfACard(t *testing.T) {
	for text, want := range map[string]float64{
		`{"temperature": 0.7, "top_p": 0.8}`: 0.7, `{"temperature": 0}`: 0, `{"do_sample": true}`: thinkingTemperature,
		`{"temperature": "hot"}`: thinkingTemperature, `{`: thinkingTemperature,
		`{"temperature": -1}`: thinkingTemperature,
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "generation_config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cardTemperature(folder); got != want {
			t.Errorf("%s: %g, want %g", text, got, want)
		}
	}
	if got := cardTemperature(filepath.Join(t.TempDir(), "model.gguf")); got != thinkingTemperature {
		t.Errorf("without a folder: %g", got)
	}
}
