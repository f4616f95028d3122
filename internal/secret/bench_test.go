package secret

import (
	"fmt"
	"testing"
)

// commandLines are as a machine with many processes has them.
func commandLines(n int) [][]string {
	kinds := [][]string{
		{"/usr/sbin/sshd", "-D"},
		{"python3", "-u", "train.py", "--model", "gpt2-large", "--max-new-tokens", "128",
			"--tokenizer", "gpt2",
			"--lr", "3e-4", "--data", "/data/corpus/train-00001.bin"},
		{"/usr/lib/jvm/java-21/bin/java", "-Xmx4g", "-XX:+UseG1GC", "-Djava.io.tmpdir=/tmp", "-cp",
			"/opt/app/lib/a.jar:/opt/app/lib/b.jar:/opt/app/lib/c.jar", "org.example.Main"},
		{"sh", "-c",
			"cd /srv && exec python -m torch.distributed.run --nproc-per-node 8 train.py --config " +
				"conf/base.yaml 2>&1 | tee log.txt"},
		{"/opt/google/chrome/chrome", "--type=renderer", "--lang=en-US", "--num-raster-threads=4",
			"--renderer-client-id=7", "--time-ticks-at-unix-epoch=-1700000000", "--field-trial-handle=3,i,1"},
		{"postgres: writer process"},
		{"curl", "-H", "Authorization: Bearer abcdefgh12345678",
			"https://user:pass@host.example.org/a?token=x"},
		{"kubelet", "--config=/var/lib/kubelet/config.yaml",
			"--container-runtime-endpoint=unix:///run/containerd/containerd.sock", "--node-ip=10.0.0.7"},
	}
	lines := make([][]string, n)
	for i := range lines {
		lines[i] = append(append([]string(nil), kinds[i%len(kinds)]...), fmt.Sprintf("--index=%d", i))
	}
	return lines
}

func BenchmarkThousandCommandLines(b *testing.B) {
	lines := commandLines(1000)
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			Args(line)
		}
	}
}

func BenchmarkText(b *testing.B) {
	const text = "/home/alice/src/model/attention.py:4117 " +
		"MultiHeadAttention.forward__main__.model.layers[…].self_attn.k_proj"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Text(text)
	}
}
