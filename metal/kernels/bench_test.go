package kernels_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
)

// BenchmarkDequantF16 decodes to f16 on one core from memory that its caches
// hold.
func BenchmarkDequantF16(b *testing.B) {
	const values = 64 << 10
	for _, f := range formats() {
		b.Run(f.String(), func(b *testing.B) {
			src, dst := blocks(f, values, 1), make([]uint16, values)
			b.SetBytes(2 * values)
			for b.Loop() {
				if err := kernels.DequantF16(dst, src, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkF32ToF16(b *testing.B) {
	var sum uint16
	v := float32(0.1)
	for b.Loop() {
		sum += kernels.F32ToF16(v)
		v += 1e-6
	}
	_ = sum
}
