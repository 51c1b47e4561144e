package overlap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func lines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func similarity(a, b string) float64 { return jaccard(shingles(plain(a)), shingles(plain(b))) }

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"  Add 2, and 3!  ":     "add 2 and 3",
		"Ｆｕｌｌ　ｗｉｄｔｈ":            "full width",
		"don't":                 "don t",
		"???":                   "???",
		"Ärger\u0301":           plain("ärgeŕ"),
		"naïve\tcafe\u0301\r\n": "naïve café",
		"a_b-c":                 "a b c",
		"3.14":                  "3 14",
		"東京の天気は？":               "東京の天気は",
	} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string][]string{
		"Add 2 and 3.":                         {"2", "3"},
		`Rename "a b.txt" to 'C' and ` + "`d`": {"a b txt", "c", "d"},
		"don't count it's words as quoted":     nil,
		"price of $19.99, id A-17/b":           {"19 99", "a 17 b"},
		"on 2026-11-22 at 10:30":               {"10 30", "2026 11 22"},
		"“Long way” by «Nobody»":               {"long way", "nobody"},
	} {
		if got := values(text); !slices.Equal(got, want) {
			t.Errorf("values(%q) = %q, want %q", text, got, want)
		}
	}
}

// A worked example: the shingles of " abcdef " are " abcd", "abcde", "bcdef" and "cdef "; of " abcdeg " the first two
// are the same.
func TestJaccardByHand(t *testing.T) {
	if got := similarity("abcdef", "Abcdeg!"); got != 2.0/6 {
		t.Errorf("%v", got)
	}
	if got := similarity("aaaaaaaa", "aaaaaaaaaaaa"); got != 1 { // the same set, of other sizes
		t.Errorf("%v", got)
	}
	if similarity("", "") != 0 || similarity("hi", "ho") != 0 || similarity("hi", "Hi.") != 1 {
		t.Error("short texts")
	}
}

// alterations make a near copy of a text in one way each.
func alterations() map[string]func(*rand.Rand, string) string {
	words := func(text string, change func(i int, all []string) []string) string {
		all := strings.Fields(text)
		return strings.Join(change(len(all), all), " ")
	}
	return map[string]func(*rand.Rand, string) string{
		"case and punctuation": func(_ *rand.Rand, s string) string {
			return strings.ToUpper(regexp.MustCompile(`[,.?!"]`).ReplaceAllString(s, " "))
		},
		"courtesy": func(r *rand.Rand, s string) string {
			before := []string{"Please ", "Could you ", "Hi! ", "I need you to: "}
			behind := []string{"", " Thanks!", " Thank you.", " Be quick."}
			return before[r.IntN(4)] + strings.ToLower(s[:1]) + s[1:] + behind[r.IntN(4)]
		},
		"a typing error": func(r *rand.Rand, s string) string {
			return words(s, func(n int, all []string) []string {
				i := r.IntN(n)
				if w := []byte(all[i]); len(w) > 3 {
					w[1], w[2] = w[2], w[1]
					all[i] = string(w)
				}
				return all
			})
		},
		"a word less": func(r *rand.Rand, s string) string {
			return words(s, func(n int, all []string) []string { return slices.Delete(all, n/2, n/2+1) })
		},
		"another word": func(r *rand.Rand, s string) string {
			return words(s, func(n int, all []string) []string {
				all[r.IntN(n)] = []string{"quickly", "other", "whole", "great"}[r.IntN(4)]
				return all
			})
		},
		"three of these": nil, // see measure
		"turned round": func(_ *rand.Rand, s string) string {
			return words(s, func(n int, all []string) []string { return append(slices.Clone(all[n/2:]), all[:n/2]...) })
		},
	}
}

// measure is the share of near copies of each kind that are found among texts, and how many pairs of other texts are.
func measure(tasks []string, threshold float64) (found map[string]float64, wrong int) {
	all := alterations()
	all["three of these"] = func(r *rand.Rand, s string) string {
		return all["courtesy"](r, all["another word"](r, all["a word less"](r, s)))
	}
	x := NewIndex(threshold)
	for _, t := range Read(tasks...) {
		x.Add(t)
	}
	found = map[string]float64{}
	const rounds = 4
	for name, alter := range all {
		r := rand.New(rand.NewPCG(1, 2))
		for range rounds {
			for i, task := range tasks {
				for _, m := range x.Near(Read(alter(r, task))[0]) {
					if m.ID == i {
						found[name]++
					} else {
						wrong++
					}
				}
			}
		}
		found[name] /= float64(rounds * len(tasks))
	}
	return found, wrong
}

// Threshold was chosen on the tasks of odd lines; these are the others.
func TestNearCopiesAreFound(t *testing.T) {
	var tasks []string
	for i, line := range lines(t, "testdata/tasks.txt") {
		if i%2 == 1 {
			tasks = append(tasks, line)
		}
	}
	found, wrong := measure(tasks, Threshold)
	t.Logf("recall %v, %d wrong pairs", found, wrong)
	for name, least := range map[string]float64{
		"case and punctuation": 1, "courtesy": 0.95, "a typing error": 0.98, "a word less": 0.98, "another word": 0.95,
		"turned round": 0.98, "three of these": 0.85,
	} {
		if found[name] < least {
			t.Errorf("%s: %.3f of the copies are found, want %.3f", name, found[name], least)
		}
	}
	if wrong > 0 {
		t.Errorf("%d pairs of different tasks", wrong)
	}
}

// What is said in other words is not found, and docs/guide.md says so.
func TestParaphrasesAreNot(t *testing.T) {
	n := 0
	pairs := lines(t, "testdata/paraphrases.txt")
	for _, line := range pairs {
		a, b, _ := strings.Cut(line, "\t")
		if similarity(a, b) >= Threshold {
			n++
		}
		t.Logf("%.2f", similarity(a, b))
	}
	t.Logf("%d of %d", n, len(pairs))
	if n > len(pairs)/2 {
		t.Error("the guide says less than what is so")
	}
}

func TestTemplatesAreTold(t *testing.T) {
	x := NewIndex(Threshold)
	for _, s := range Read(
		`Compute the SHA-256 hash of the text "blue lantern" and give me its first eight characters.`,
		`Please compute the SHA-256 hash of the text "red kite" and give me its first eight characters.`,
	) {
		x.Add(s)
	}
	got := x.Near(Read(`Compute the SHA-256 hash of the text "red kite" and give me its first eight characters!`)[0])
	if len(got) != 2 || got[0].ID != 1 || !got[0].SameValues || got[1].ID != 0 || got[1].SameValues {
		t.Errorf("%+v", got)
	}
}

// drawTexts draws texts of few words, so that many are near one another.
func drawTexts(r *rapid.T, most int) []string {
	vocabulary := []string{"add", "the", "file", "to", "folder", "send", "mail", "two", "numbers", "report", "of",
		"sales", "7", "12", `"x"`, "日本", "Ünlü"}
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 9).Draw(r, "words"), " ")
	}), 1, most).Draw(r, "texts")
}

// Whatever is said to be near is so by count, best first, and an index of any order finds the same. Of what is near by
// count next to nothing is missed: at most the share that NewIndex states, here over all draws.
func TestIndexEqualsCounting(t *testing.T) {
	missed, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		texts := drawTexts(r, 40)
		threshold := rapid.SampledFrom([]float64{0.4, Threshold, 0.8, 1}).Draw(r, "threshold")
		read := Read(texts...)
		x, reversed := NewIndex(threshold), NewIndex(threshold)
		for i := range read {
			x.Add(read[i])
			reversed.Add(read[len(read)-1-i])
		}
		query := rapid.IntRange(0, len(texts)-1).Draw(r, "query")
		got := x.Near(read[query])
		ids := map[int]bool{}
		for i, m := range got {
			ids[m.ID] = true
			if s := similarity(texts[query], texts[m.ID]); s != m.Similarity || s < threshold {
				r.Fatalf("%q and %q: %v, counted %v", texts[query], texts[m.ID], m.Similarity, s)
			}
			if m.SameValues != slices.Equal(values(texts[query]), values(texts[m.ID])) {
				r.Fatalf("%q and %q: values", texts[query], texts[m.ID])
			}
			if i > 0 && (m.SameValues && !got[i-1].SameValues ||
				m.SameValues == got[i-1].SameValues && m.Similarity > got[i-1].Similarity) {
				r.Fatalf("order of %+v", got)
			}
		}
		other := map[int]bool{}
		for _, m := range reversed.Near(read[query]) {
			other[len(texts)-1-m.ID] = true
		}
		if len(other) != len(ids) {
			r.Fatalf("in another order %v, want %v", other, ids)
		}
		for i := range texts {
			if similarity(texts[query], texts[i]) >= threshold {
				all++
				if !ids[i] {
					missed++
				}
			}
		}
	})
	if missed*100 > all {
		t.Errorf("%d of %d near texts were missed", missed, all)
	}
	t.Logf("%d of %d near texts were missed", missed, all)
}

// A change of case, punctuation or white space is none, and similarity is symmetric and bounded.
func TestWhatDoesNotCount(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := rapid.String().Draw(r, "a"), rapid.String().Draw(r, "b")
		if s := similarity(a, b); s != similarity(b, a) || s < 0 || s > 1 {
			r.Fatalf("%v", s)
		}
		word := rapid.StringMatching(`[a-z]{1,6}( [a-z]{1,6}){0,8}`).Draw(r, "text")
		noisy := "\t" + strings.ToUpper(strings.ReplaceAll(word, " ",
			rapid.SampledFrom([]string{" ", ", ", " - ", "\n"}).Draw(r, "gap"))) + "?!"
		if plain(word) != plain(noisy) {
			r.Fatalf("%q and %q", word, noisy)
		}
	})
}

// Signatures show the similarity: the mean error over many pairs is near 0, and none is off by more than five
// deviations.
func TestSignaturesShowSimilarity(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sum, n := 0.0, 0
	for range 300 {
		letters := func(k int) string {
			b := make([]byte, k)
			for i := range b {
				b[i] = "abcdefghijklmnopqrstuvwxyz "[r.IntN(27)]
			}
			return string(b)
		}
		shared := letters(20 + r.IntN(300))
		texts := Read(shared+letters(r.IntN(100)), shared+letters(r.IntN(100)))
		s := jaccard(texts[0].kept, texts[1].kept)
		shown := float64(texts[0].equalParts(&texts[1])) / numHashes
		if dev := math.Sqrt(s * (1 - s) / numHashes); math.Abs(shown-s) > 5*dev+1e-9 {
			t.Errorf("%v shown as %v", s, shown)
		}
		sum += shown - s
		n++
	}
	if mean := sum / float64(n); math.Abs(mean) > 0.01 {
		t.Errorf("the mean error is %v", mean)
	}
}

// BenchmarkNear looks for near copies in 100,000 tasks while they are added, as curation does: 200 templates, filled in
// with words and numbers, a tenth of them twice. Set against 60 s on two cores.
func BenchmarkNear(b *testing.B) {
	texts := made(100_000)
	for b.Loop() {
		x := NewIndex(Threshold)
		kept := 0
		for _, t := range Read(texts...) {
			if len(x.Near(t)) == 0 {
				x.Add(t)
				kept++
			}
		}
		b.ReportMetric(float64(kept), "kept")
	}
	b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "texts/s")
}

// made are tasks from templates of words that are drawn once.
func made(n int) []string {
	r := rand.New(rand.NewPCG(5, 6))
	vocabulary := make([]string, 3000)
	for i := range vocabulary {
		w := make([]byte, 3+r.IntN(7))
		for k := range w {
			w[k] = byte('a' + r.IntN(26))
		}
		vocabulary[i] = string(w)
	}
	words := func(k int) (out []string) {
		for range k {
			out = append(out, vocabulary[r.IntN(len(vocabulary))])
		}
		return out
	}
	templates := make([][]string, 200)
	for i := range templates {
		templates[i] = words(8 + r.IntN(30))
	}
	texts := make([]string, 0, n)
	for len(texts) < n {
		if len(texts) > 0 && r.IntN(10) == 0 {
			texts = append(texts, "please "+texts[r.IntN(len(texts))])
			continue
		}
		text := append(slices.Clone(templates[r.IntN(len(templates))]), words(1+r.IntN(12))...)
		texts = append(texts, strings.Join(text, " ")+fmt.Sprint(" ", r.IntN(1000)))
	}
	return texts
}
