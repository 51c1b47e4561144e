package plan

import (
	"strings"
	"testing"
)

// program wraps lines into a function of x [10] and y [10], 40 bytes each.
func program(returns string, lines ...string) string {
	return "module @m {\nfunc.func @main(%p0: tensor<10xf32>, %p1: tensor<10xf32> {jax.buffer_donor = true}) -> " +
		"(tensor<10xf32>) {\n" +
		strings.Join(lines, "\n") + "\nreturn " + returns + " : tensor<10xf32>\n}\n}\n"
}

// dot reads and makes 40 bytes that must be in memory.
func dot(result, a, b string) string {
	return result + ` = "stablehlo.dot_general"(` + a + ", " + b +
		`) <{x = y}> : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>`
}

func unary(result, kind, a string) string {
	return result + ` = "stablehlo.` + kind + `"(` + a + `) : (tensor<10xf32>) -> tensor<10xf32>`
}

func TestTemporaries(t *testing.T) {
	long := []string{dot("%v1", "%p0", "%p1"), dot("%v2", "%v1", "%p1"), dot("%v3", "%v2", "%p1"),
		dot("%v4", "%v3", "%p1"), dot("%v5", "%v4", "%p1")}
	for _, c := range []struct {
		name, hlo string
		want      int64
	}{
		{"a chain holds an operand and a result", program("%v5", long...), 80},
		{"what is read at the end is held throughout", program("%v6", append(long, dot("%v6", "%v1", "%v5"))...), 120},
		{"what nobody reads is not there", program("%v5", append(long, dot("%v9", "%v1", "%p1"))...), 80},
		{"the same twice is once", program("%v8", append(long, dot("%v6", "%v4", "%p1"), dot("%v8", "%v5", "%v6"))...), 80},
		{"element-wise is computed where it is read", program("%v7", append(long, unary("%v6", "negate", "%v5"), unary("%v7", "exponential", "%v6"))...), 80},
		{"but for a product it is put into memory", program("%v7", append(long, unary("%v6", "negate", "%v2"), dot("%v7", "%v5", "%v6"))...), 120},
		{"what is dear is not computed twice", program("%v9",
			append(long, unary("%v6", "exponential", "%v5"), unary("%v7", "negate", "%v6"), unary("%v8", "sign", "%v6"),
				`%v9 = "stablehlo.add"(%v7, %v8) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>`)...), 80},
		{
			"a call's results are in memory", program("%v5", append(long[:4:4],
				`%v6:2 = func.call @f0(%v4) : (tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)`,
				dot("%v5", "%v6#0", "%v6#1"))...), 120,
		},
		{"of little that depends on each other half is held", program("%v2", long[:2]...), 20},
		{"a region counts while it runs", program("%v5", append(long[:4:4],
			`%v5 = "stablehlo.scatter"(%v4) ({`, dot("%w1", "%a", "%a"), dot("%w2", "%w1", "%w1"), unary("%w3",
				"negate", "%w2"), "stablehlo.return %w3 : tensor<10xf32>",
			"}) : (tensor<10xf32>) -> tensor<10xf32>")...), 120},
	} {
		got, err := Temporaries(c.hlo, false)
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
}

func TestTemporariesOfBrokenText(t *testing.T) {
	for _, hlo := range []string{
		"", "module @m {}", program("%v1", `%v1 = "stablehlo.negate"(%p0) : (tensor<10xf32>) -> tensor<10xq7>`),
		program("%v1", `%v1 = "stablehlo.negate"(%p0) : (tensor<10xf32>) -> nothing`), program("%v1",
			`%v1 = "stablehlo.scatter"(%p0) ({`),
	} {
		if _, err := Temporaries(hlo, false); err == nil {
			t.Errorf("no error of %q", hlo)
		}
	}
}

func FuzzTemporaries(f *testing.F) {
	f.Add(program("%v1", dot("%v1", "%p0", "%p1")))
	f.Add(program("%v1", `%v1:2 = "stablehlo.optimization_barrier"(%p0, %p1) : (tensor<10xf32>, tensor<1xi1>) -> (tensor<10xf32>, tensor<1xi1>)`))
	f.Fuzz(func(t *testing.T, hlo string) {
		if n, err := Temporaries(hlo, false); err == nil && n < 0 {
			t.Errorf("%d bytes", n)
		}
	})
}
