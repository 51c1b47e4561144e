package modelfile

import (
	"encoding/binary"

	"github.com/gomlx/go-huggingface/models/gguf"
)

// quant is how a tensor of a GGUF file is stored: blocks of so many bytes, each of so many numbers. The numbers are
// those of llama.cpp's own reader, to the bit: products are rounded before they are added, whatever the processor could
// do.
type quant struct {
	bytes, numbers int
	read           func(src []byte, dst []float32) // one block
}

// quantOf is the type's; ok is false where it is not read.
func quantOf(t gguf.TensorType) (q quant, ok bool) {
	q, ok = map[gguf.TensorType]quant{
		gguf.TensorTypeF32: {4, 1, nil}, gguf.TensorTypeF16: {2, 1, nil}, gguf.TensorTypeBF16: {2, 1, nil},
		gguf.TensorTypeQ4_0: {18, 32, readQ4x0}, gguf.TensorTypeQ4_1: {20, 32, readQ4x1},
		gguf.TensorTypeQ5_0: {22, 32, readQ5x0}, gguf.TensorTypeQ5_1: {24, 32, readQ5x1},
		gguf.TensorTypeQ8_0: {34, 32, readQ8x0},
		gguf.TensorTypeQ2_K: {84, 256, readQ2K}, gguf.TensorTypeQ3_K: {110, 256, readQ3K},
		gguf.TensorTypeQ4_K: {144, 256, readQ4K}, gguf.TensorTypeQ5_K: {176, 256, readQ5K},
		gguf.TensorTypeQ6_K: {210, 256, readQ6K},
	}[t]
	return q, ok
}

// numbers decodes whole blocks. What is stored as float32 is not copied where it lies as float32s must.
func (q quant) decode(t gguf.TensorType, raw []byte) []float32 {
	if q.read == nil {
		return floats(raw, t.String())
	}
	out := make([]float32, len(raw)/q.bytes*q.numbers)
	for i, at := 0, 0; i < len(raw); i, at = i+q.bytes, at+q.numbers {
		q.read(raw[i:i+q.bytes:i+q.bytes], out[at:at+q.numbers:at+q.numbers])
	}
	return out
}

func half(src []byte) float32 { return fromHalf(binary.LittleEndian.Uint16(src)) }

func readQ4x0(src []byte, dst []float32) {
	d := half(src)
	for i, b := range src[2:18] {
		dst[i] = d * float32(int(b&15)-8)
		dst[i+16] = d * float32(int(b>>4)-8)
	}
}

func readQ4x1(src []byte, dst []float32) {
	d, least := half(src), half(src[2:])
	for i, b := range src[4:20] {
		dst[i] = float32(d*float32(b&15)) + least
		dst[i+16] = float32(d*float32(b>>4)) + least
	}
}

func readQ5x0(src []byte, dst []float32) {
	d, fifth := half(src), binary.LittleEndian.Uint32(src[2:])
	for i, b := range src[6:22] {
		dst[i] = d * float32(int(b&15)+int(fifth>>i&1)<<4-16)
		dst[i+16] = d * float32(int(b>>4)+int(fifth>>(i+16)&1)<<4-16)
	}
}

func readQ5x1(src []byte, dst []float32) {
	d, least, fifth := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
	for i, b := range src[8:24] {
		dst[i] = float32(d*float32(int(b&15)+int(fifth>>i&1)<<4)) + least
		dst[i+16] = float32(d*float32(int(b>>4)+int(fifth>>(i+16)&1)<<4)) + least
	}
}

func readQ8x0(src []byte, dst []float32) {
	d := half(src)
	for i, b := range src[2:34] {
		dst[i] = d * float32(int8(b))
	}
}

// The K types hold 16 scales of 16 numbers, or 8 of 32, in units of the block's own. Numbers of two bits stand four to
// a byte: those of one place in the bytes are 32 neighbours.

// readQ2K: 16 bytes of scale (low half) and minimum (high half), 64 of numbers, the units of scales and of minima.
func readQ2K(src []byte, dst []float32) {
	scales, qs, d, dmin := src[:16], src[16:80], half(src[80:]), half(src[82:])
	for i := range dst {
		scale := scales[i/16]
		q := qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3
		dst[i] = float32(float32(d*float32(scale&15))*float32(q)) - float32(dmin*float32(scale>>4))
	}
}

// readQ3K: 32 bytes with each number's third bit, 64 with the lower two, 12 with the scales of 6 bits, the unit.
func readQ3K(src []byte, dst []float32) {
	high, qs, packed, d := src[:32], src[32:96], src[96:108], half(src[108:])
	var scales [16]float32
	for i := range scales {
		low, top := packed[i%8]>>(i/8*4)&15, packed[8+i%4]>>(i/4*2)&3
		scales[i] = d * float32(int(low|top<<4)-32)
	}
	for i := range dst {
		q := int(qs[i/128*32+i%32]>>(i%128/32*2)&3) + int(high[i%32]>>(i/32)&1)<<2 - 4
		dst[i] = scales[i/16] * float32(q)
	}
}

// scalesK are the 8 scales and minima of 6 bits that Q4_K and Q5_K pack into 12 bytes.
func scalesK(packed []byte, d, dmin float32) (scales, least [8]float32) {
	for i := range 4 {
		scales[i], least[i] = d*float32(packed[i]&63), dmin*float32(packed[i+4]&63)
		scales[i+4] = d * float32(packed[i+8]&15|packed[i]>>6<<4)
		least[i+4] = dmin * float32(packed[i+8]>>4|packed[i+4]>>6<<4)
	}
	return scales, least
}

// readQ4K: the units, 12 bytes of scales, 128 of numbers: 32 in the low halves of 32 bytes, the next 32 in the high
// ones.
func readQ4K(src []byte, dst []float32) {
	scales, least := scalesK(src[4:16], half(src), half(src[2:]))
	for part := range 8 {
		scale, low, shift := scales[part], least[part], part%2*4
		out := dst[part*32 : part*32+32]
		for i, b := range src[16+part/2*32:][:32] {
			out[i] = float32(scale*float32(b>>shift&15)) - low
		}
	}
}

// readQ5K is Q4_K with 32 bytes of fifth bits before the numbers.
func readQ5K(src []byte, dst []float32) {
	scales, least := scalesK(src[4:16], half(src), half(src[2:]))
	fifth := src[16:48]
	for part := range 8 {
		scale, low, shift := scales[part], least[part], part%2*4
		out := dst[part*32 : part*32+32]
		for i, b := range src[48+part/2*32:][:32] {
			out[i] = float32(scale*float32(b>>shift&15|fifth[i]>>part&1<<4)) - low
		}
	}
}

// readQ6K: 128 bytes of the numbers' low halves, 64 of their two higher bits, 16 scales, the unit.
func readQ6K(src []byte, dst []float32) {
	d := half(src[208:])
	for part := range 8 { // of 32 numbers
		group, inGroup := part/4, part%4
		lows := src[group*64+inGroup%2*32:][:32]
		tops := src[128+group*32:][:32]
		shift, topShift := inGroup/2*4, inGroup*2
		out := dst[part*32 : part*32+32]
		for side := range 2 {
			scale := d * float32(int8(src[192+part*2+side]))
			for i := side * 16; i < side*16+16; i++ {
				out[i] = scale * float32(int(lows[i]>>shift&15|tops[i]>>topShift&3<<4)-32)
			}
		}
	}
}
