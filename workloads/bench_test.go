package workloads

import (
	"bytes"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/workloads/gguf"
)

// BenchmarkModelLoad times the full twin: the whole workload under the default
// policy, beside decoding its values into memory that is resident already, and
// beside a plain copy of as many bytes of f16 into fresh buffers of a device,
// both on all cores. Fresh memory is most of a load on a virtual machine.
func BenchmarkModelLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "twin.gguf")
	if err := writeTwin(path, 1); err != nil {
		b.Fatal(err)
	}
	file, err := gguf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var load, decode, plain time.Duration
	for b.Loop() {
		start := time.Now()
		var out bytes.Buffer
		if err := run(b, "modelload", softEnv(b, &out, map[string]string{"model": path})); err != nil {
			b.Fatal(err)
		}
		load += time.Since(start)
		decode += decodeAll(b, file)
		plain += copyAll(b, file)
	}
	n := float64(b.N)
	b.ReportMetric(load.Seconds()/n, "load-s/op")
	b.ReportMetric(decode.Seconds()/n, "decode-s/op")
	b.ReportMetric(plain.Seconds()/n, "copy-s/op")
	b.ReportMetric(load.Seconds()/plain.Seconds(), "load/copy")
	b.ReportMetric(load.Seconds()/(plain+decode).Seconds(), "load/(copy+decode)")
}

// decodeAll decodes every tensor into one buffer that is resident.
func decodeAll(b *testing.B, file *gguf.File) time.Duration {
	largest := uint64(0)
	for _, t := range file.Tensors {
		largest = max(largest, t.Elements)
	}
	dst := make([]uint16, largest)
	clear(dst)
	start := time.Now()
	for _, t := range file.Tensors {
		if err := dequantise(dst[:t.Elements], file.Data(t), kernels.Format(t.Type)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// copyAll copies as many bytes as the model has as f16 into buffers of a device,
// all held at once as a load holds them, on all cores, and gives them up.
func copyAll(b *testing.B, file *gguf.File) time.Duration {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer device.Close()
	largest := uint64(0)
	for _, t := range file.Tensors {
		largest = max(largest, t.Elements)
	}
	src := bytes.Repeat([]byte{1}, int(2*largest))
	start := time.Now()
	var held []metal.Buffer
	for _, t := range file.Tensors {
		buffer, err := device.NewBuffer(2*t.Elements, t.Name)
		if err != nil {
			b.Fatal(err)
		}
		held = append(held, buffer)
		copyWide(buffer.Contents(), src)
	}
	for _, buffer := range held {
		if err := buffer.Release(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// copyWide fills dst from src on all cores.
func copyWide(dst, src []byte) {
	parts := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for i := range parts {
		lo, hi := len(dst)*i/parts, len(dst)*(i+1)/parts
		wait.Go(func() { copy(dst[lo:hi], src[lo:hi]) })
	}
	wait.Wait()
}
