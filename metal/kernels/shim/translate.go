package shim

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpumem/gpumem/metal/kernels"
)

// HeaderName is what the source includes; header is our version of it.
const HeaderName = "metal_stdlib"

//go:embed include/metal_stdlib
var header string

// CUDA is a translation unit for clang's CUDA mode: the source as device
// functions and an entry for each kernel, of the form that kernels.PTX
// documents.
func CUDA(source string) (string, error) {
	all, err := Parse(source)
	if err != nil {
		return "", fmt.Errorf("translate to CUDA: %w", err)
	}
	var b strings.Builder
	preamble(&b)
	b.WriteString("#pragma clang force_cuda_host_device begin\nnamespace shader {\n")
	b.WriteString(plain(source))
	b.WriteString("} // namespace shader\n#pragma clang force_cuda_host_device end\n")
	for _, s := range all {
		s.entry(&b)
	}
	return b.String(), nil
}

// CPU is a translation unit for a processor: the source, and the table
// gpumem_kernels of struct gpumem_kernel, ended by a null name, whose run takes
// the addresses of the arguments and a grid.
func CPU(source string) (string, error) {
	all, err := Parse(source)
	if err != nil {
		return "", fmt.Errorf("translate to C++: %w", err)
	}
	var b strings.Builder
	preamble(&b)
	b.WriteString("namespace shader {\n" + plain(source) + "} // namespace shader\n")
	for _, s := range all {
		s.host(&b)
	}
	b.WriteString(
		"struct gpumem_kernel { const char* name; int buffers, parameters, plane; void (*run)(void**, " +
			"uint, uint); };\n")
	b.WriteString("extern \"C\" { extern const gpumem_kernel gpumem_kernels[]; }\n")
	b.WriteString("const gpumem_kernel gpumem_kernels[] = {\n")
	for _, s := range all {
		fmt.Fprintf(&b, "    {%q, %d, %d, %v, host_%s},\n", s.Name, s.buffers(), len(s.Args)-s.buffers(),
			s.Plane, s.Name)
	}
	b.WriteString("    {nullptr, 0, 0, 0, nullptr},\n};\n")
	return b.String(), nil
}

func preamble(b *strings.Builder) {
	b.WriteString("// Generated from kernels.metal by package shim; not for editing.\n#include <" +
		HeaderName + ">\n")
}

// plain is the source without attributes, which macros for address spaces
// would break.
func plain(source string) string { return attribute.ReplaceAllString(source, "") }

func (s *Signature) buffers() int {
	n := 0
	for _, a := range s.Args {
		if a.Buffer {
			n++
		}
	}
	return n
}

// pointer is the type of a buffer argument.
func (a *Argument) pointer() string {
	if a.Const {
		return "const " + a.Type + "*"
	}
	return a.Type + "*"
}

// entry prints the entry of a kernel: every thread goes over the grid in steps
// of the whole launch, so that no limit on the number of blocks is met.
func (s *Signature) entry(b *strings.Builder) {
	fmt.Fprintf(b, "\nextern \"C\" __attribute__((__global__, launch_bounds(%d))) void %s%s(",
		kernels.MaxBlock, kernels.EntryPrefix, s.Name)
	var names []string
	for i, a := range s.Args {
		kind := a.Type
		if a.Buffer {
			kind = a.pointer()
		}
		names = append(names, fmt.Sprintf("a%d", i))
		fmt.Fprintf(b, "%s a%d, ", kind, i)
	}
	b.WriteString("uint width, uint height) {\n")
	position := "uint(x)"
	if s.Plane {
		position = "metal::uint2{uint(x), uint(y)}"
		b.WriteString(
			"    for (ulong y = ulong(__nvvm_read_ptx_sreg_ctaid_y()) * __nvvm_read_ptx_sreg_ntid_y() + " +
				"__nvvm_read_ptx_sreg_tid_y();\n" +
				"         y < height; y += ulong(__nvvm_read_ptx_sreg_nctaid_y()) * " +
				"__nvvm_read_ptx_sreg_ntid_y())\n")
	}
	b.WriteString(
		"    for (ulong x = ulong(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() + " +
			"__nvvm_read_ptx_sreg_tid_x();\n" +
			"         x < width; x += ulong(__nvvm_read_ptx_sreg_nctaid_x()) * " +
			"__nvvm_read_ptx_sreg_ntid_x())\n")
	fmt.Fprintf(b, "        shader::%s(%s, %s);\n}\n", s.Name, strings.Join(names, ", "), position)
}

// host prints a loop over the grid.
func (s *Signature) host(b *strings.Builder) {
	var args []string
	for i, a := range s.Args {
		if a.Buffer {
			args = append(args, fmt.Sprintf("(%s)a[%d]", a.pointer(), i))
		} else {
			args = append(args, fmt.Sprintf("*(const %s*)a[%d]", a.Type, i))
		}
	}
	rows, position := "", "x"
	if s.Plane {
		rows, position = "for (uint y = 0; y < height; y++) ", "metal::uint2{x, y}"
	}
	fmt.Fprintf(b, "static void host_%s(void** a, uint width, uint height) {\n    (void)height;\n"+
		"    %sfor (uint x = 0; x < width; x++) shader::%s(%s, %s);\n}\n",
		s.Name, rows, s.Name, strings.Join(args, ", "), position)
}

// The files of Write.
const (
	FileCUDA = "kernels.cu"
	FileCPU  = "kernels.cc"
)

// Write puts both translation units and the header into a folder that exists.
func Write(dir, source string) error {
	cuda, err := CUDA(source)
	if err != nil {
		return err
	}
	cpu, err := CPU(source)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{HeaderName: header, FileCUDA: cuda, FileCPU: cpu} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
