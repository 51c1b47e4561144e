//go:build soak

package local

import (
	"testing"
	"time"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
)

// Ten minutes of what TestLoad does for seconds.
func TestSoakLoad(t *testing.T) {
	e, err := engine.Open(engine.Options{Plugin: learntest.Plugin(), DType: engine.DTypeF32})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load(t, e, 64, 10*time.Minute)
}
