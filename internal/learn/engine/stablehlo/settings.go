package stablehlo

import "strings"

// What a program is compiled with is said in its text's first lines, as comments, so that it is part of what the program is
// kept under and of what people read.

// libraryProducts has a GPU's matrix products computed by its library and not by kernels that XLA writes. The library adds
// to what is there for nothing, which XLA's kernels take another pass for: of a training step of Qwen3-4B's shape that is
// 4% (docs/LOG.md). A product of few rows is bound by memory, and XLA's choice of kernels is the better one.
const libraryProducts = "// xla_gpu_enable_triton_gemm = false\n"

// manyRows is from how many rows on a product is not bound by memory.
const manyRows = 512

// loopsOnDevice has a GPU decide itself whether a loop goes on, as part of a graph of kernels (CUDA's conditional nodes). Else the host
// would wait for the condition before each turn. What that is worth is below what docs/LOG.md could tell apart.
const loopsOnDevice = "// xla_gpu_enable_command_buffer = WHILE\n"

// settings returns a program's first lines, "" where there is nothing to say.
func (b *builder) settings() (lines string) {
	if !b.backend.IsGPU() {
		return ""
	}
	if b.widest >= manyRows {
		lines += libraryProducts
	}
	if b.loops {
		lines += loopsOnDevice
	}
	return lines
}

// settingsOf returns what a text's first lines say, as fields of a CompileOptionsProto (openxla/xla,
// xla/pjrt/proto/compile_options.proto): env_option_overrides, a map from a flag's name to its value. Of a flag that is a list the value is
// added to it.
func settingsOf(text string) (fields string) {
	for {
		line, rest, _ := strings.Cut(text, "\n")
		setting, ok := strings.CutPrefix(line, "// ")
		if !ok {
			return fields
		}
		text = rest
		name, value, _ := strings.Cut(setting, " = ")
		override := field(1, value) // string_field
		if value == "false" {
			override = "\x10\x00" // bool_field
		}
		fields += field(7, field(1, name)+field(2, override))
	}
}

// field is a field of a protocol buffer whose value is shorter than 128 bytes.
func field(number byte, value string) string {
	return string([]byte{number<<3 | 2, byte(len(value))}) + value
}
