package metal_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
)

// Adds two numbers on a device. The autorelease scope frees what the driver makes
// for the command buffer and its encoder.
func Example() {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		log.Fatal(err)
	}
	queue, err := device.NewQueue(0)
	if err != nil {
		log.Fatal(err)
	}
	pipeline, err := device.NewPipeline("add")
	if err != nil {
		log.Fatal(err)
	}
	sum, err := device.NewBuffer(4, "sum")
	if err != nil {
		log.Fatal(err)
	}
	device.Autorelease(func() {
		commands, err := queue.NewCommandBuffer()
		if err != nil {
			log.Fatal(err)
		}
		encoder, err := commands.NewEncoder()
		if err != nil {
			log.Fatal(err)
		}
		encoder.SetPipeline(pipeline)
		encoder.SetBytes(0, kernels.Float32Bytes(1.5))
		encoder.SetBytes(1, kernels.Float32Bytes(2))
		encoder.SetBuffer(2, sum, 0)
		err = encoder.Dispatch(metal.Size{X: 1})
		if err := errors.Join(err, encoder.End(), commands.Commit(), commands.Wait(),
			commands.Release()); err != nil {
			log.Fatal(err)
		}
	})
	result := make([]byte, 4)
	if _, err := sum.ReadAt(result, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(result)))
	// A buffer is charged in whole pages, whatever its length.
	fmt.Println(device.Usage().AllocatedBytes == int64(device.Info().PageSize))
	if err := errors.Join(sum.Release(), pipeline.Release(), queue.Release(), device.Close()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3.5
	// true
}

// An allocation beyond the budget says what was asked for and what is held.
func ExampleOutOfMemoryError() {
	device, err := soft.Open(soft.Options{WorkingSet: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	weights, err := device.NewBuffer(1<<20, "weights")
	if err != nil {
		log.Fatal(err)
	}
	defer weights.Release()
	_, err = device.NewBuffer(4096, "activations")
	var full *metal.OutOfMemoryError
	if errors.As(err, &full) {
		fmt.Println(full.RequestedBytes, full.AllocatedBytes, full.LimitBytes)
	}
	// Output: 4096 1048576 1048576
}
