package overlap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// template are n texts of one template: four of five words are its own, and as many values as it has differ.
func template(n int, values bool) []string {
	r := rand.New(rand.NewPCG(7, 8))
	word := func() string {
		w := make([]byte, 3+r.IntN(6))
		for k := range w {
			w[k] = byte('a' + r.IntN(26))
		}
		return string(w)
	}
	var own []string
	for range 48 {
		own = append(own, word())
	}
	texts := make([]string, n)
	for i := range texts {
		at := r.IntN(len(own))
		text := strings.Join(own[:at], " ")
		for range 12 {
			text += " " + word()
		}
		texts[i] = text + " " + strings.Join(own[at:], " ")
		if values {
			texts[i] += fmt.Sprintf(` {"city": "%s", "day": %d}`, word(), r.IntN(365))
		}
	}
	return texts
}

// Copies of texts of one template are found among thousands that share buckets with them.
func TestCopiesInTemplates(t *testing.T) {
	for _, values := range []bool{false, true} {
		texts := template(5000, values)
		c := NewCopies(0.9)
		wrong := 0
		for _, x := range Read(texts...) {
			if _, there := c.Of(x); there {
				wrong++
			}
			c.Add(x)
		}
		found := map[string]int{}
		for i, text := range texts {
			words := strings.Fields(text)
			for name, altered := range map[string]string{
				"the same":    strings.ToUpper(text) + "!",
				"a word less": strings.Join(append(words[:3:3], words[4:]...), " "),
			} {
				if m, there := c.Of(Read(altered)[0]); there && m.ID == i {
					found[name]++
				}
			}
		}
		t.Logf("values %v: %v of %d, %d wrong", values, found, len(texts), wrong)
		if found["the same"] != len(texts) || found["a word less"] < len(texts)*99/100 || wrong > 0 {
			t.Errorf("values %v: %v of %d, %d wrong", values, found, len(texts), wrong)
		}
	}
}

// A copy is found behind newer texts that stand in all its buckets and are not near enough.
func TestCopiesBehindNewerTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	word := func() string {
		w := make([]byte, 3+r.IntN(6))
		for k := range w {
			w[k] = byte('a' + r.IntN(26))
		}
		return string(w)
	}
	const families, newer = 5, 40
	c := NewCopies(0.9)
	found := 0
	for family := range families {
		words := make([]string, 60)
		for i := range words {
			words[i] = word()
		}
		first := family * (newer + 1)
		c.Add(Read(strings.Join(words, " "))[0])
		for range newer {
			other := strings.Join(words, " ")
			for range 3 {
				other = strings.Replace(other, words[r.IntN(len(words))], word(), 1)
			}
			c.Add(Read(other)[0])
		}
		if m, there := c.Of(Read(strings.Join(words[1:], " "))[0]); there && m.ID == first {
			found++
		}
	}
	if found < families {
		t.Errorf("of %d copies %d were found", families, found)
	}
}

// Copies says what Index says of the texts with the same values; of what is near, next to nothing is missed.
func TestCopiesEqualIndex(t *testing.T) {
	missed, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		read := Read(drawTexts(r, 40)...)
		threshold := rapid.SampledFrom([]float64{0.4, Threshold, 0.8, 1}).Draw(r, "threshold")
		c := NewCopies(threshold)
		for i := range read {
			m, there := c.Of(read[i])
			best := 0.0
			for j := range i {
				if s := similarity(read[i].plain, read[j].plain); read[i].plain != "" && s >= threshold &&
					strings.Join(read[i].values, "|") == strings.Join(read[j].values, "|") {
					best = max(best, s)
				}
			}
			if there && (m.Similarity != similarity(read[i].plain, read[m.ID].plain) || m.Similarity < threshold ||
				m.Similarity > best) {
				r.Fatalf("%+v, best %v", m, best)
			}
			if best > 0 {
				if all++; !there {
					missed++
				}
			}
			c.Add(read[i])
		}
	})
	if missed*100 > all {
		t.Errorf("%d of %d near texts were missed", missed, all)
	}
}

// BenchmarkCopies looks for copies in 100,000 texts while they are added. Set against 60 s on two cores.
func BenchmarkCopies(b *testing.B) {
	for name, texts := range map[string][]string{
		"mixed":                made(100_000),
		"template":             template(100_000, false),
		"template with values": template(100_000, true),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := NewCopies(0.9)
				kept := 0
				for start := 0; start < len(texts); start += 1024 {
					for _, t := range Read(texts[start:min(start+1024, len(texts))]...) {
						if _, there := c.Of(t); !there {
							c.Add(t)
							kept++
						}
					}
				}
				b.ReportMetric(float64(kept), "kept")
			}
			b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}
