package stablehlo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// ptx is a kernel in the language of NVIDIA's assembler. Its parameters are the addresses of the operands of a call and
// then of the results, which lie in memory as their axes say.
type ptx struct {
	name, text string
	grid       [2]int   // blocks
	threads    int      // of a block
	inPlace    [][2]int // results that are operands changed in place, by number: result, operand
}

// callPTX appends a call of a kernel. Its text stands in the program once, in a function of its own.
func (f *function) callPTX(k ptx, out []shapes.Shape, operands ...compute.Value) []compute.Value {
	in, like := make([]*value, len(operands)), make([]*value, len(out))
	for i, o := range operands {
		in[i] = &value{name: "%p" + strconv.Itoa(i), shape: o.(*value).shape}
	}
	for i, s := range out {
		like[i] = &value{name: "%r#" + strconv.Itoa(i), shape: s}
	}
	names, types := operandText(in)
	outNames, outTypes := operandText(like)
	aliases := make([]string, len(k.inPlace))
	for i, a := range k.inPlace {
		aliases[i] = fmt.Sprintf("#stablehlo.output_operand_alias<output_tuple_indices = [%d], operand_index = %d, "+
			"operand_tuple_indices = []>", a[0], a[1])
	}
	signature := make([]string, len(in))
	for i, p := range in {
		signature[i] = p.name + ": " + typeOf(p.shape)
	}
	body := fmt.Sprintf("(%s) -> (%s) {\n"+
		"%%r:%d = stablehlo.custom_call @__gpu$xla.gpu.ptx(%s) {api_version = 4 : i32, backend_config = {name = "+
		"\"%s\", kernel_type = \"ptx\", kernel_data = \"%s\", grid_x = %d : i32, grid_y = %d : i32, grid_z = 1 : "+
		"i32, block_x = %d : i32, block_y = 1 : i32, block_z = 1 : i32, shared_mem_bytes = 0 : i32}, operand_layouts "+
		"= %s, result_layouts = %s, output_operand_aliases = [%s]} : (%s) -> (%s)\nreturn %s : %s\n}\n",
		strings.Join(signature, ", "), outTypes, len(out), names, k.name, ptxString(k.text), k.grid[0],
		k.grid[1], k.threads, layoutText(rowMajor(in)), layoutText(rowMajor(like)), strings.Join(aliases, ", "),
		types, outTypes, outNames, outTypes)
	function := f.builder.functionOf(k.name, body)
	for i, o := range operands {
		in[i] = o.(*value)
	}
	names, _ = operandText(in)
	r := f.builder.newName()
	fmt.Fprintf(&f.text, "%s:%d = func.call @%s(%s) : (%s) -> (%s)\n", r, len(out), function, names, types, outTypes)
	return results(r, like)
}

// functionOf returns the name of the function beside main that has this body, which the program gets if it has none.
func (b *builder) functionOf(name, body string) string {
	for i, known := range b.beside {
		if known == body {
			return name + strconv.Itoa(i)
		}
	}
	b.beside = append(b.beside, body)
	name += strconv.Itoa(len(b.beside) - 1)
	fmt.Fprintf(&b.besideText, "func.func private @%s%s", name, body)
	return name
}

// ptxString is a text inside of a string of a program.
func ptxString(text string) string {
	return strings.NewReplacer("\n", `\0A`, "\t", `\09`, `"`, `\22`, `\`, `\5C`).Replace(text)
}

// rowMajor is the layout of values that lie in memory as their axes say.
func rowMajor(values []*value) []string {
	layouts := make([]string, len(values))
	for i, v := range values {
		var axes []int
		for axis := v.shape.Rank() - 1; axis >= 0; axis-- {
			axes = append(axes, axis)
		}
		layouts[i] = join(axes)
	}
	return layouts
}
