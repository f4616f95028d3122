package pool_test

import (
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

func benchPool(b *testing.B, policy string, opts pool.Options) *pool.Pool {
	b.Helper()
	p, err := pool.New(newFake(), named(b, policy), opts)
	if err != nil {
		b.Fatal(err)
	}
	get(b, p, 1) // a weight: programs hold something
	return p
}

func cycle(b *testing.B, p *pool.Pool, r pool.Request) {
	h, err := p.Get(r)
	if err == nil {
		_, err = h.Release()
	}
	if err != nil {
		b.Error(err)
	}
}

var benchRequest = pool.Request{Elements: 10_000, ElementSize: 4, Label: "bench"}

// One Get that hits and its Release, all counters on.
func BenchmarkHit(b *testing.B) {
	for _, policy := range pool.Policies() {
		if policy.MaxIdlePerClass == 0 {
			continue
		}
		b.Run(policy.Name, func(b *testing.B) {
			p := benchPool(b, policy.Name, pool.Options{})
			b.ReportAllocs()
			for b.Loop() {
				cycle(b, p, benchRequest)
			}
		})
	}
}

// The same with eight sizes in turn, so that no cache of the last one helps.
func BenchmarkHitMixed(b *testing.B) {
	p := benchPool(b, "default", pool.Options{})
	var rs [8]pool.Request
	for i := range rs {
		rs[i] = pool.Request{Elements: 10_000 << i, ElementSize: 4}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		cycle(b, p, rs[i%len(rs)])
		i++
	}
}

func BenchmarkHitWithSites(b *testing.B) {
	p := benchPool(b, "default", pool.Options{Sites: true})
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, p, benchRequest)
	}
}

// A hit on every core at once, all of one class.
func BenchmarkHitParallel(b *testing.B) {
	for _, wide := range []bool{false, true} {
		b.Run(fmt.Sprintf("wide=%v", wide), func(b *testing.B) {
			p := benchPool(b, "default", pool.Options{})
			if wide {
				pool.Widen(p)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					cycle(b, p, benchRequest)
				}
			})
		})
	}
}

func BenchmarkRetainRelease(b *testing.B) {
	p := benchPool(b, "default", pool.Options{})
	h := get(b, p, 100)
	b.ReportAllocs()
	for b.Loop() {
		c, err := h.Retain()
		if err == nil {
			_, err = c.Release()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStats(b *testing.B) {
	for _, wide := range []bool{false, true} {
		b.Run(fmt.Sprintf("wide=%v", wide), func(b *testing.B) {
			p := benchPool(b, "default", pool.Options{})
			if wide {
				pool.Widen(p)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Stats()
			}
		})
	}
}
