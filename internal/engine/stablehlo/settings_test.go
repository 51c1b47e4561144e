package stablehlo

import (
	"strings"
	"testing"
)

// What a text's first line says reaches the compiler: it knows the flag, and refuses one that there is not.
func TestSettings(t *testing.T) {
	const text = libraryProducts +
		"module @m {\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {\nreturn %x : tensor<f32>\n}\n}\n"
	settings := settingsOf(text)
	if want := "\x3a\x20\x0a\x1axla_gpu_enable_triton_gemm\x12\x02\x10\x00"; settings != want {
		t.Fatalf("%q, want %q", settings, want)
	}
	if s := settingsOf(strings.TrimPrefix(text, libraryProducts)); s != "" {
		t.Errorf("without the line: %q", s)
	}
	b := plug(t)
	for _, known := range []bool{true, false} {
		if !known {
			settings = strings.Replace(settings, "gemm", "germ", 1)
		}
		c := b.plugin.newTranslation(text, settings, nil, false)
		defer c.release()
		if _, err := b.translate(c); (err == nil) != known {
			t.Errorf("a flag that is known (%v): %v", known, err)
		}
	}
}
