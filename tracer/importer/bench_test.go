package importer

import (
	"bytes"
	"strings"
	"testing"
)

func BenchmarkTorchSnapshot(b *testing.B) {
	data := snapshot(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data), "x"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStatementLog(b *testing.B) {
	text := strings.Repeat(traceLog, 10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(text), "x"); err != nil {
			b.Fatal(err)
		}
	}
}
