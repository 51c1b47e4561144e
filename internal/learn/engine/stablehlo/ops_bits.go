package stablehlo

import "github.com/gomlx/compute"

// The operations on the bits of integers: what draws by counter are made of.

func (f *function) BitwiseXor(a, b compute.Value) (compute.Value, error) {
	return f.binary("xor", compute.OpTypeBitwiseXor, a, b)
}
func (f *function) BitwiseAnd(a, b compute.Value) (compute.Value, error) {
	return f.binary("and", compute.OpTypeBitwiseAnd, a, b)
}
func (f *function) ShiftRightLogical(a, b compute.Value) (compute.Value, error) {
	return f.binary("shift_right_logical", compute.OpTypeShiftRightLogical, a, b)
}
