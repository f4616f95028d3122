package workloads

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// typedModel is a file whose matrices of block 0 have a type.
func typedModel(t *testing.T, kind gguf.Type) string {
	t.Helper()
	c := llama.Tiny()
	c.Width, c.Hidden, c.Vocab = 256, 512, 300
	var twin, out bytes.Buffer
	if err := llama.WriteTwin(&twin, c, kernels.Q8_0, 1); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Read(bytes.NewReader(twin.Bytes()), int64(twin.Len()))
	if err != nil {
		t.Fatal(err)
	}
	spec := gguf.Spec{Metadata: file.Metadata, Tensors: file.Tensors}
	for i, tensor := range spec.Tensors {
		if strings.HasPrefix(tensor.Name, "blk.0.") && len(tensor.Dims) == 2 {
			spec.Tensors[i].Type = kind
		}
	}
	err = spec.Write(&out, func(t gguf.Tensor) ([]byte, error) { return make([]byte, t.Bytes), nil })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATypeThatCannotBeDecodedIsNamedWithThoseThatWorkBeforeAnythingIsOpened(t *testing.T) {
	t.Parallel()
	const work = "these work: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, " +
		"IQ4_NL, IQ4_XS, BF16"
	for _, kind := range []gguf.Type{16, 17, 18, 19, 21, 22, 29} { // IQ1 to IQ3
		path := typedModel(t, kind)
		for _, name := range []string{"generate", "modelload"} {
			var out bytes.Buffer
			e := softEnv(t, &out, map[string]string{"model": path})
			e.Open = func(DeviceFaults) (metal.Device, error) {
				t.Errorf("%s opened the device for a model of %v", name, kind)
				return nil, os.ErrInvalid
			}
			err := run(t, name, e)
			if err == nil || !strings.Contains(err.Error(), kind.String()) || !strings.Contains(err.Error(), work) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %v: %v", name, kind, err)
			}
		}
	}
	for _, kind := range []gguf.Type{gguf.Type(kernels.IQ4_NL), gguf.Type(kernels.IQ4_XS)} {
		path := typedModel(t, kind)
		for name, more := range map[string]string{"generate": "prompt-tokens", "modelload": ""} {
			var out bytes.Buffer
			e := softEnv(t, &out, map[string]string{"model": path})
			if more != "" {
				e.Flags[more] = "1,2"
			}
			if err := run(t, name, e); err != nil {
				t.Errorf("%s with %v: %v\n%s", name, kind, err, out.String())
			}
		}
	}
}
