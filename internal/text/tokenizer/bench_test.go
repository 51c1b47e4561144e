package tokenizer

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	benchName = flag.String("name", "", "real tokenizer that BenchmarkMixed takes")
	benchText = flag.String("text", "", "file of texts with NUL between them; bench_tokenizers.py makes it")
)

// BenchmarkMixed encodes 10 MB of mixed text, with a new tokenizer each time.
func BenchmarkMixed(b *testing.B) {
	if *cache == "" || *benchText == "" {
		b.Skip("bench_tokenizers.py runs this")
	}
	data, err := os.ReadFile(*benchText)
	if err != nil {
		b.Fatal(err)
	}
	texts := strings.Split(string(data), "\x00")
	b.SetBytes(int64(len(data)))
	b.StopTimer()
	for range b.N {
		tok, err := Load(filepath.Join(*cache, *benchName+".json"))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		b.StartTimer()
		for _, text := range texts {
			n += len(tok.Encode(text))
		}
		b.StopTimer()
		b.ReportMetric(float64(n), "ids")
	}
}

// BenchmarkNoSpace encodes 8 kB to 512 kB without a space, by each kind of model: the time for each byte is to stay
// about the same.
func BenchmarkNoSpace(b *testing.B) {
	tokenizers := map[string]*Tokenizer{"smollm2": smollm2(b, "")}
	families := readFamilies(b)
	for _, name := range []string{"llama2", "gemma3", "t5-precompiled"} {
		tokenizers[name] = parse(b, families, name)
	}
	for kind, letters := range map[string]string{
		"letters": "abcdefghijklmnopqrstuvwxyz",
		"marks":   "\u0301\u0316",
		"east":    "世界你好数据模型",
		"spaces":  " \t\u3000",
	} {
		for name, tok := range tokenizers {
			for size, n := range map[string]int{"8kB": 8 << 10, "64kB": 64 << 10, "512kB": 512 << 10} {
				d, pool := newDraw(1), []rune(letters)
				var text strings.Builder
				for text.Len() < n {
					text.WriteRune(of(d, pool))
				}
				b.Run(kind+"/"+name+"/"+size, func(b *testing.B) {
					b.SetBytes(int64(n))
					for b.Loop() {
						tok.EncodeOrdinary(text.String())
					}
				})
			}
		}
	}
}
