package stablehlo

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
)

// The operations on bits: what draws by counter and checksums are made of.

func (f *function) Bitcast(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	shape, err := shapeinference.Bitcast(x.(*value).shape, dtype)
	if err != nil {
		return nil, err
	}
	return f.op("bitcast_convert", "", shape, x)
}

func (f *function) BitwiseXor(a, b compute.Value) (compute.Value, error) {
	return f.binary("xor", compute.OpTypeBitwiseXor, a, b)
}
func (f *function) BitwiseAnd(a, b compute.Value) (compute.Value, error) {
	return f.binary("and", compute.OpTypeBitwiseAnd, a, b)
}
func (f *function) ShiftRightLogical(a, b compute.Value) (compute.Value, error) {
	return f.binary("shift_right_logical", compute.OpTypeShiftRightLogical, a, b)
}
