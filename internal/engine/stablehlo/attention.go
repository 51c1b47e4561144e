package stablehlo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Fused attention: softmax attention of N rows of C queries that never holds a row's scores in memory, forward or
// backward (arXiv 2307.08691). Keys and values are one text: a prefix of P tokens that all rows see whole, then the C
// tokens of each row, which that row sees causally. The two parts are two calls of a kernel, merged by their
// normalisers; the backward pass of each part is given the statistics and the output of the whole, with which its
// gradients are exact (arXiv 2506.05433 shares prefixes to the same end).
//
//	query, output        [N, C, H, D] bf16
//	key, value           [1, P + N*C, K, D] bf16, where K divides H
//	state for the VJP    [N, H, C] f32: log of the softmax's denominator
type attention struct {
	f                   *function
	n, c, p, h, k, d    int
	scale               float64
	query, output, stat shapes.Shape
}

func (f *function) newAttention(query, key compute.Value, layout compute.AttentionAxesLayout,
	options *compute.ScaledDotProductAttentionConfig) (*attention, error) {
	q, k := query.(*value).shape, key.(*value).shape
	if layout != compute.AttentionAxesLayoutBSHD || !options.Causal || q.DType != dtypes.BFloat16 || q.Rank() != 4 ||
		k.Rank() != 4 {
		return nil, fmt.Errorf("stablehlo backend: fused attention that is not causal bf16 [N, C, H, D]: %w",
			compute.ErrNotImplemented)
	}
	a := &attention{f: f, n: q.Dimensions[0], c: q.Dimensions[1], h: q.Dimensions[2], d: q.Dimensions[3],
		k: k.Dimensions[2], scale: options.Scale, query: q, output: q}
	a.p = k.Dimensions[1] - a.n*a.c
	if a.p < 0 || a.h%a.k != 0 {
		return nil, fmt.Errorf("stablehlo backend: attention of queries %s to keys %s", q, k)
	}
	a.stat = shapes.Make(dtypes.Float32, a.n, a.h, a.c)
	return a, nil
}

// attended is what fused attention returned.
type attended struct {
	out    compute.Value
	states []compute.Value
}

// FusedScaledDotProductAttention implements compute.FusedOps. Called once more with the same options it returns what it
// returned: GoMLX copies a node with its options where the backward pass computes it again, and attention is so dear
// where rows are long that its output is kept instead.
func (f *function) FusedScaledDotProductAttention(query, key, val compute.Value, layout compute.AttentionAxesLayout,
	options *compute.ScaledDotProductAttentionConfig) (compute.Value, []compute.Value, error) {
	if x, ok := f.attended[options]; ok { // behind a barrier, or what is computed from it would be kept too
		again, err := f.OptimizationBarrier(append([]compute.Value{query, x.out}, x.states...)...)
		if err != nil {
			return nil, nil, err
		}
		return again[1], again[2:], nil
	}
	out, states, err := f.attend(query, key, val, layout, options)
	if err == nil {
		if f.attended == nil {
			f.attended = map[*compute.ScaledDotProductAttentionConfig]attended{}
		}
		f.attended[options] = attended{out, states}
	}
	return out, states, err
}

func (f *function) attend(query, key, val compute.Value, layout compute.AttentionAxesLayout,
	options *compute.ScaledDotProductAttentionConfig) (compute.Value, []compute.Value, error) {
	switch other := options.Bias.(type) {
	case NewToken:
		return f.attendNew(query, key, val, other)
	case Thin:
		return f.addThin(query, key, val, other)
	}
	if options.KeyValueSeqLen != nil {
		return f.attendCache(query, key, val, options)
	}
	a, err := f.newAttention(query, key, layout, options)
	if err != nil {
		return nil, nil, err
	}
	shared, own := a.split(key)
	sharedV, ownV := a.split(val)
	out, stat := a.forward(query, own, ownV, true)
	if a.p == 0 {
		return out, []compute.Value{stat}, nil
	}
	out2, stat2 := a.forward(a.flat(query), shared, sharedV, false)
	stat2 = a.rows(stat2)
	max, _ := f.Max(stat, stat2)
	sum := a.add(a.exp(stat, max), a.exp(stat2, max))
	log, _ := f.Log(sum)
	whole := a.add(log, max)
	// o times its share exp(part - whole), [N, H, C] to [N, C, H, D]
	wide := func(part, o compute.Value) compute.Value {
		w, _ := f.op("broadcast_in_dim", "broadcast_dimensions = "+array([]int{0, 2, 1}), a.f32(a.output),
			a.exp(part, whole))
		x, _ := f.ConvertDType(o, dtypes.Float32)
		x, _ = f.Mul(x, w)
		return x
	}
	o2, _ := f.Reshape(out2, a.output.Dimensions...)
	out, _ = f.ConvertDType(a.add(wide(stat, out), wide(stat2, o2)), dtypes.BFloat16)
	return out, []compute.Value{whole}, nil
}

// FusedScaledDotProductAttentionVJP implements compute.FusedOps.
func (f *function) FusedScaledDotProductAttentionVJP(query, key, val compute.Value, layout compute.AttentionAxesLayout,
	options *compute.ScaledDotProductAttentionConfig, out compute.Value, states []compute.Value, dOut compute.Value) (
	dQuery, dKey, dValue compute.Value, err error) {
	a, err := f.newAttention(query, key, layout, options)
	if err != nil {
		return nil, nil, nil, err
	}
	shared, own := a.split(key)
	sharedV, ownV := a.split(val)
	dq, dk, dv := a.backward(query, own, ownV, states[0], dOut, out, true)
	flat := []int{1, a.n * a.c, a.k, a.d}
	dk, _ = f.Reshape(dk, flat...)
	dv, _ = f.Reshape(dv, flat...)
	if a.p == 0 {
		return dq, dk, dv, nil
	}
	stat, _ := f.Transpose(states[0], 1, 0, 2)
	stat, _ = f.Reshape(stat, 1, a.h, a.n*a.c)
	dq2, dk2, dv2 := a.backward(a.flat(query), shared, sharedV, stat, a.flat(dOut), a.flat(out), false)
	dq2, _ = f.Reshape(dq2, a.query.Dimensions...)
	x, _ := f.ConvertDType(dq, dtypes.Float32)
	y, _ := f.ConvertDType(dq2, dtypes.Float32)
	dq, _ = f.ConvertDType(a.add(x, y), dtypes.BFloat16)
	dk, _ = f.Concatenate(1, dk2, dk)
	dv, _ = f.Concatenate(1, dv2, dv)
	return dq, dk, dv, nil
}

// split returns the prefix [1, P, K, D] and the rows' own tokens [N, C, K, D].
func (a *attention) split(x compute.Value) (shared, own compute.Value) {
	own = x
	if a.p > 0 {
		shared, _ = a.f.Slice(x, []int{0, 0, 0, 0}, []int{1, a.p, a.k, a.d}, nil)
		own, _ = a.f.Slice(x, []int{0, a.p, 0, 0}, []int{1, a.p + a.n*a.c, a.k, a.d}, nil)
	}
	own, _ = a.f.Reshape(own, a.n, a.c, a.k, a.d)
	return shared, own
}

// flat sees [N, C, H, D] as one row [1, N*C, H, D].
func (a *attention) flat(x compute.Value) compute.Value {
	y, _ := a.f.Reshape(x, 1, a.n*a.c, a.h, a.d)
	return y
}

// rows turns the statistics [1, H, N*C] of one flat row into [N, H, C].
func (a *attention) rows(stat compute.Value) compute.Value {
	x, _ := a.f.Reshape(stat, a.h, a.n, a.c)
	x, _ = a.f.Transpose(x, 1, 0, 2)
	return x
}

func (a *attention) add(x, y compute.Value) compute.Value {
	z, _ := a.f.Add(x, y)
	return z
}

// exp is exp(x - y).
func (a *attention) exp(x, y compute.Value) compute.Value {
	z, _ := a.f.Sub(x, y)
	z, _ = a.f.Exp(z)
	return z
}

func (a *attention) f32(s shapes.Shape) shapes.Shape {
	return shapes.Make(dtypes.Float32, s.Dimensions...)
}

// forward attends from q [B, S, H, D] to k, v [B, T, K, D] and returns the output [B, S, H, D] and its statistics
// [B, H, S].
func (a *attention) forward(q, k, v compute.Value, causal bool) (out, stat compute.Value) {
	if !a.f.builder.backend.IsGPU() {
		return a.plainForward(q, k, v, seen{causal: causal})
	}
	b, s, t := q.(*value).shape.Dimensions[0], q.(*value).shape.Dimensions[1], k.(*value).shape.Dimensions[1]
	results := []shapes.Shape{shapes.Make(dtypes.BFloat16, b, a.h, s, a.d),
		shapes.Make(dtypes.Float32, b, a.h, s), workspace}
	r := a.call("__cudnn$fmhaSoftmax", a.config(b, s, t, maskKernel(causal), forwardProducts()),
		[]string{"3, 1, 2, 0", "2, 1, 0", "0"}, results, operands(q, k, v)...)
	out, _ = a.f.Transpose(r[0], 0, 2, 1, 3)
	return out, r[1]
}

// backward returns the gradients of forward's inputs, in their shapes, given the statistics and the output of all keys
// that the queries see.
func (a *attention) backward(q, k, v, stat, dOut, out compute.Value, causal bool) (dq, dk, dv compute.Value) {
	if !a.f.builder.backend.IsGPU() {
		return a.plainBackward(q, k, v, stat, dOut, out, causal)
	}
	b, s, t := q.(*value).shape.Dimensions[0], q.(*value).shape.Dimensions[1], k.(*value).shape.Dimensions[1]
	gradient := func(heads, tokens int) shapes.Shape { return shapes.Make(dtypes.BFloat16, b, heads, tokens, a.d) }
	results := []shapes.Shape{gradient(a.h, s), gradient(a.k, t), gradient(a.k, t), workspace}
	products := map[string]any{
		"bmm1_grad_gemm1_dot_dimension_numbers": contraction("2", "1", "1"),
		"bmm1_grad_gemm2_dot_dimension_numbers": contraction("3", "1", "1"),
		"bmm2_grad_gemm1_dot_dimension_numbers": contraction("2", "1", "1"),
		"bmm2_grad_gemm2_dot_dimension_numbers": contraction("3", "3", "2")}
	r := a.call("__cudnn$fmhaSoftmaxBackward", a.config(b, s, t, maskKernel(causal), products),
		[]string{"3, 1, 2, 0", "3, 1, 2, 0", "3, 1, 2, 0", "0"}, results, operands(q, k, v, stat, dOut, out)...)
	dq, _ = a.f.Transpose(r[0], 0, 2, 1, 3)
	dk, _ = a.f.Transpose(r[1], 0, 2, 1, 3)
	dv, _ = a.f.Transpose(r[2], 0, 2, 1, 3)
	return dq, dk, dv
}

// workspace is the last result of cuDNN's calls; XLA gives it the size that cuDNN asks for.
var workspace = shapes.Make(dtypes.Uint8, 0)

// contraction describes one of the products inside of cuDNN's kernel, on [B, S, H, D] and on scores [B, H, S, T]. The
// other batch axis is always 0.
func contraction(lhs, rhs, lhsHeads string) map[string]any {
	return map[string]any{"lhs_contracting_dimensions": []string{lhs}, "rhs_contracting_dimensions": []string{rhs},
		"lhs_batch_dimensions": []string{"0", lhsHeads}, "rhs_batch_dimensions": []string{"0", "2"}}
}

func forwardProducts() map[string]any {
	return map[string]any{"bmm1_dot_dimension_numbers": contraction("3", "3", "2"),
		"bmm2_dot_dimension_numbers": contraction("3", "1", "1")}
}

// kernel is what differs between cuDNN's attention kernels.
type kernel struct {
	mask  string // "NO_MASK", "CAUSAL", or "PADDING" where lengths are operands
	paged bool   // keys and values are pages, and tables of them are operands
}

func maskKernel(causal bool) kernel {
	if causal {
		return kernel{mask: "CAUSAL"}
	}
	return kernel{mask: "NO_MASK"}
}

// config is XLA's GpuBackendConfig for a cuDNN attention call (xla/service/gpu/backend_configs.proto) as JSON.
func (a *attention) config(b, s, t int, is kernel, products map[string]any) string {
	scores := []string{strconv.Itoa(b), strconv.Itoa(a.h), strconv.Itoa(s), strconv.Itoa(t)}
	c := map[string]any{
		"algorithm": map[string]any{
			"algo_id": "0", "math_type": "TENSOR_OP_MATH", "tuning_knobs": map[string]string{"17": "1", "24": "0"},
			"is_cudnn_frontend": true, "workspace_size": "0",
		},
		"fmha_scale": a.scale, "mask_type": is.mask, "is_flash_attention": true, "dropout_rate": 0, "seed": 42,
		"sliding_window_length": 0, "max_seg_per_batch": 1, "is_paged_attention": is.paged,
		"intermediate_tensor_shape": map[string]any{
			"element_type": "BF16", "dimensions": scores, "tuple_shapes": []any{},
			"is_dynamic_dimension": []bool{false, false, false, false},
			"layout": map[string]any{"dim_level_types": []any{}, "dim_unique": []any{}, "dim_ordered": []any{},
				"minor_to_major": []string{"3", "2", "1", "0"}, "tiles": []any{}, "element_size_in_bits": "0",
				"memory_space": "0", "index_primitive_type": "PRIMITIVE_TYPE_INVALID",
				"pointer_primitive_type": "PRIMITIVE_TYPE_INVALID", "dynamic_shape_metadata_prefix_bytes": "0"},
		},
	}
	for name, p := range products {
		c[name] = p
	}
	// maps of plain values always encode
	text, _ := json.Marshal(map[string]any{"operation_queue_id": "0", "cudnn_fmha_backend_config": c})
	return string(text)
}

// operand is a value with its layout in memory, fastest axis first; "" is as its axes say.
type operand struct {
	value  compute.Value
	layout string
}

func operands(values ...compute.Value) (all []operand) {
	for _, v := range values {
		all = append(all, operand{value: v})
	}
	return all
}

// call appends a custom call whose results have the layouts given, fastest axis first.
func (a *attention) call(
	target, config string, layouts []string, results []shapes.Shape, operands ...operand,
) []compute.Value {
	in, out := make([]*value, len(operands)), make([]*value, len(results))
	for i, o := range operands {
		in[i] = o.value.(*value)
	}
	inLayouts := rowMajor(in)
	for i, o := range operands {
		if o.layout != "" {
			inLayouts[i] = o.layout
		}
	}
	name := a.f.builder.newName()
	values := make([]compute.Value, len(results))
	for i, s := range results {
		out[i] = &value{name: name + "#" + strconv.Itoa(i), shape: s}
		values[i] = out[i]
	}
	names, types := operandText(in)
	_, outTypes := operandText(out)
	fmt.Fprintf(&a.f.text, "%s:%d = stablehlo.custom_call @%s(%s) {api_version = 2 : i32, backend_config = \"%s\", "+
		"operand_layouts = %s, result_layouts = %s} : (%s) -> (%s)\n", name, len(results), target, names,
		strings.ReplaceAll(config, `"`, `\22`), layoutText(inLayouts), layoutText(layouts), types, outTypes)
	return values
}

func layoutText(layouts []string) string {
	text := make([]string, len(layouts))
	for i, l := range layouts {
		text[i] = fmt.Sprintf("dense<[%s]> : tensor<%dxindex>", l, strings.Count(l, ",")+1)
	}
	return "[" + strings.Join(text, ", ") + "]"
}
