package pool_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

// A buffer that is given up stays idle, and serves the next request of its class.
func Example() {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := pool.PolicyByName("default")
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New(device, policy, pool.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		activation, err := p.Get(pool.Request{Elements: 1024, ElementSize: 4, Label: "activation"})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := activation.Release(); err != nil {
			log.Fatal(err)
		}
	}
	s := p.Stats()
	fmt.Println("made", s.Misses, "reused", s.Hits, "live", s.Live.Count, "idle", s.Idle.Count)
	receipt := p.Purge()
	fmt.Println("purged", receipt.Buffers, "idle", p.Stats().Idle.Count)
	if err := errors.Join(p.Close(), device.Close()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// made 1 reused 2 live 0 idle 1
	// purged 1 idle 0
}

// Every holder retains the buffer for itself, and gives up its own reference.
func ExampleHandle_Retain() {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	policy, err := pool.PolicyByName("default")
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New(device, policy, pool.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	weights, err := p.Get(pool.Request{Elements: 256, ElementSize: 2})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := weights.Retain(); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		outcome, err := weights.Release()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(outcome)
	}
	_, err = weights.Release()
	fmt.Println(errors.Is(err, pool.ErrStale))
	// Output:
	// shared
	// returned
	// true
}

// Survivors are what a program forgot, by the line that asked for it.
func ExamplePool_Survivors() {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := pool.PolicyByName("default")
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New(device, policy, pool.Options{Sites: true})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := p.Get(pool.Request{Elements: 1024, ElementSize: 4, Label: "gradient"}); err != nil {
			log.Fatal(err)
		}
	}
	for _, s := range p.Survivors() {
		fmt.Println(s.Label, s.Count, s.RequestedBytes, s.Function)
	}
	// Output: gradient 2 8192 github.com/gpumem/gpumem/pool_test.ExamplePool_Survivors
}
