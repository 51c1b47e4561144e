package stablehlo

import "strings"

// What a program is compiled with is said in its text's first line, as a comment, so that it is part of what the
// program is kept under and of what people read.

// libraryProducts has a GPU's matrix products computed by its library and not by kernels that XLA writes. The library
// adds to what is there for nothing, which XLA's kernels take another pass for, and reads weights faster where rows are
// few (docs/log).
const libraryProducts = "// xla_gpu_enable_triton_gemm = false\n"

// settings returns a program's first line, "" where there is nothing to say.
func (b *builder) settings() string {
	if b.backend.IsGPU() {
		return libraryProducts
	}
	return ""
}

// settingsOf returns what a text's first line says, as fields of a CompileOptionsProto (openxla/xla,
// xla/pjrt/proto/compile_options.proto): env_option_overrides, a map from a flag's name to its value.
func settingsOf(text string) string {
	if !strings.HasPrefix(text, libraryProducts) {
		return ""
	}
	const isFalse = "\x10\x00" // bool_field
	return field(7, field(1, "xla_gpu_enable_triton_gemm")+field(2, isFalse))
}

// field is a field of a protocol buffer whose value is shorter than 128 bytes.
func field(number byte, value string) string {
	return string([]byte{number<<3 | 2, byte(len(value))}) + value
}
