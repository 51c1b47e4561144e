package tokenizer

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// part is a piece of a tokenizer.json that is read by its "type", and its place in the file.
type part struct {
	raw  jsontext.Value
	path string // "pre_tokenizer.pretokenizers[1]"
}

// UnmarshalJSON keeps the text.
func (p *part) UnmarshalJSON(raw []byte) error {
	p.raw = bytes.Clone(raw)
	return nil
}

func (p part) null() bool { return len(p.raw) == 0 || p.raw.Kind() == 'n' }

// at names p as the i-th of a list in outer.
func (p part) at(outer part, list string, i int) part {
	return part{p.raw, fmt.Sprintf("%s.%s[%d]", outer.path, list, i)}
}

// pattern is what a Split or Replace looks for: one of the two.
type pattern struct{ String, Regex *string }

// file is a tokenizer.json. "truncation" and "padding" are settings of a call, not of the vocabulary: they are not
// read.
type file struct {
	Version       string
	AddedTokens   []AddedToken
	Normalizer    part
	PreTokenizer  part
	PostProcessor part
	Decoder       part
	Model         part
}

// Load reads a tokenizer.json, the format of Hugging Face's tokenizers. What is damaged or not supported is a
// *fault.Error that names the file and the part.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the tokenizer", Where: path, Err: err,
			Next: "check the path: expected a tokenizer.json"}
	}
	return Parse(path, data)
}

// Parse is Load for a tokenizer.json in memory; name stands for it in errors.
func Parse(name string, data []byte) (*Tokenizer, error) {
	b := &builder{file: name}
	var f file
	if err := json.Unmarshal(data, &f, json.MatchCaseInsensitiveNames(true)); err != nil {
		b.fail(part{}, "it is not a tokenizer.json: %w", err)
		return nil, b.err
	}
	f.Normalizer.path, f.PreTokenizer.path, f.PostProcessor.path = "normalizer", "pre_tokenizer", "post_processor"
	f.Decoder.path, f.Model.path = "decoder", "model"
	if f.Version != "" && f.Version != "1.0" {
		b.fail(part{path: "version"}, "%q is not supported: 1.0 is", f.Version)
	}
	t := &Tokenizer{normalize: b.normalizer(f.Normalizer), stages: b.preTokenizer(f.PreTokenizer)}
	t.rewrite = b.rewrite
	m := b.readModel(f.Model)
	if b.err != nil {
		return nil, b.err
	}
	t.tokens, t.ids = m.tokens, m.ids
	b.addTokens(t, f.AddedTokens)
	b.buildModel(t, f.Model, m)
	t.prefix, t.suffix = b.postProcessor(t, f.PostProcessor)
	b.buildDecoder(t, f.Decoder)
	if b.err != nil {
		return nil, b.err
	}
	return t, nil
}

// readOptions are those for a part of a file: reading the file has found names that are there twice.
func readOptions() json.Options {
	return json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true))
}

// builder reads the parts of one file and keeps the first error.
type builder struct {
	file    string
	err     error
	rewrite normalizer // of the Precompiled that was built last
}

func (b *builder) fail(p part, format string, args ...any) {
	if b.err != nil {
		return
	}
	where := b.file
	if p.path != "" {
		where += ": " + p.path
	}
	b.err = &fault.Error{
		Code: fault.CodeUsage, What: "cannot build the tokenizer", Where: where, Err: fmt.Errorf(format, args...),
		Next: "fetch the model's tokenizer again, or use a model whose tokenizer is supported",
	}
}

func (b *builder) unsupportedKind(p part, kind, supported string) {
	if kind == "" {
		b.fail(p, "it has no type; supported are %s", supported)
		return
	}
	b.fail(p, "%s is not supported; supported are %s", kind, supported)
}

// maxNesting bounds Sequences in Sequences.
const maxNesting = 16

// read decodes a part into o and returns its type.
func (b *builder) read(p part, o any) string {
	var kind struct{ Type string }
	if strings.Count(p.path, "[") > maxNesting {
		b.fail(p, "it is nested more than %d deep", maxNesting)
		return ""
	}
	if err := errors.Join(json.Unmarshal(p.raw, &kind, readOptions()),
		json.Unmarshal(p.raw, o, readOptions())); err != nil {
		b.fail(p, "%w", err)
	}
	return kind.Type
}

func (b *builder) regex(p part, expression string) *regex {
	re, err := compileRegex(expression)
	if err != nil {
		b.fail(p, "%w", err)
	}
	return re
}

// vocabulary is what a "model" holds.
type vocabulary struct {
	Type                                     string
	Vocab, Merges                            jsontext.Value
	UnkToken                                 *string
	UnkID                                    *int
	FuseUnk, ByteFallback, IgnoreMerges      bool
	Dropout                                  *float64
	ContinuingSubwordPrefix, EndOfWordSuffix *string

	tokens []string
	ids    map[string]int32
	scores []float64 // Unigram
	merges [][2]string
}

// maxID bounds the ids of a file, which need not lie side by side, so that a hostile one cannot ask for all memory.
const maxID = 1 << 21

func (b *builder) readModel(p part) vocabulary {
	if p.null() {
		b.fail(p, "it is missing")
		return vocabulary{}
	}
	var v vocabulary
	if err := json.Unmarshal(p.raw, &v, readOptions()); err != nil {
		b.fail(p, "%w", err)
		return v
	}
	if v.Type == "" && len(v.Merges) > 0 {
		v.Type = "BPE" // files of before there was a choice
	}
	switch v.Type {
	case "BPE":
		b.readIDs(&v)
		v.merges = b.readMerges(v.Merges)
		if v.Dropout != nil && *v.Dropout != 0 {
			b.fail(p, "its dropout is %v: the same text would have other ids each time", *v.Dropout)
		}
		if text(v.ContinuingSubwordPrefix)+text(v.EndOfWordSuffix) != "" {
			b.fail(p, "continuing_subword_prefix and end_of_word_suffix are not supported: "+
				"no base model that hone loads has them")
		}
	case "Unigram":
		b.readPieces(v.Vocab, &v)
	default:
		b.unsupportedKind(p, v.Type, "BPE, Unigram")
	}
	return v
}

// text is what an option says, "" where it is missing.
func text(option *string) string {
	if option == nil {
		return ""
	}
	return *option
}

// readIDs reads a vocabulary of {token: id}.
func (b *builder) readIDs(v *vocabulary) {
	v.ids = map[string]int32{}
	if err := json.Unmarshal(v.Vocab, &v.ids, readOptions()); err != nil {
		b.fail(part{path: "model.vocab"}, "%w", err)
		return
	}
	v.tokens = b.byID(v.ids)
}

// byID turns a vocabulary round. Ids between need not be taken.
func (b *builder) byID(ids map[string]int32) []string {
	last := int32(-1)
	for token, id := range ids {
		if id < 0 || id > maxID {
			b.fail(part{path: "model.vocab"}, "token %q has the id %d", token, id)
			return nil
		}
		last = max(last, id)
	}
	tokens := make([]string, last+1)
	taken := make([]bool, last+1)
	for token, id := range ids {
		if taken[id] {
			b.fail(part{path: "model.vocab"}, "tokens %q and %q have one id, %d", min(token, tokens[id]),
				max(token, tokens[id]), id)
			return nil
		}
		tokens[id], taken[id] = token, true
	}
	return tokens
}

// readMerges reads merges as "left right" or as ["left", "right"].
func (b *builder) readMerges(raw jsontext.Value) [][2]string {
	var merges [][2]string
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	where := part{path: "model.merges"}
	next := func() (string, bool) {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			b.fail(where, "merge %d is not a pair of texts", len(merges))
			return "", false
		}
		return t.String(), true
	}
	if len(raw) == 0 || raw.Kind() != '[' {
		b.fail(where, "it is not a list")
		return nil
	}
	_, _ = d.ReadToken() // the bracket
	for b.err == nil && d.PeekKind() != ']' {
		if d.PeekKind() == '[' {
			_, _ = d.ReadToken()
			left, _ := next()
			right, ok := next()
			if end, err := d.ReadToken(); ok && (err != nil || end.Kind() != ']') {
				b.fail(where, "merge %d is not a pair of texts", len(merges))
			}
			merges = append(merges, [2]string{left, right})
			continue
		}
		line, ok := next()
		left, right, two := strings.Cut(line, " ")
		if ok && (!two || strings.Contains(right, " ")) {
			b.fail(where, "merge %d, %q, is not two tokens with a space between", len(merges), line)
		}
		merges = append(merges, [2]string{left, right})
	}
	return merges
}

// readPieces reads a Unigram's vocabulary, [[token, score], ...].
func (b *builder) readPieces(raw jsontext.Value, v *vocabulary) {
	where := part{path: "model.vocab"}
	var rows []jsontext.Value
	if err := json.Unmarshal(raw, &rows); err != nil {
		b.fail(where, "%w", err)
		return
	}
	v.ids = make(map[string]int32, len(rows))
	for i, row := range rows {
		var token string
		var score float64
		var pair []jsontext.Value
		err := json.Unmarshal(row, &pair)
		if err == nil && len(pair) != 2 {
			err = fmt.Errorf("it has %d elements", len(pair))
		}
		if err == nil {
			err = json.Unmarshal(pair[0], &token)
		}
		if err == nil && pair[1].Kind() != '0' {
			err = errors.New("its score is not a number")
		}
		if err == nil {
			score, err = parseScore(string(pair[1]))
		}
		if err != nil {
			b.fail(where, "token %d is not a pair of text and score: %w", i, err)
			return
		}
		if other, again := v.ids[token]; again {
			b.fail(where, "token %q has two ids, %d and %d", token, other, i)
			return
		}
		v.ids[token] = int32(i)
		v.tokens, v.scores = append(v.tokens, token), append(v.scores, score)
	}
	switch {
	case v.UnkID == nil:
		b.fail(part{path: "model.unk_id"}, "it is missing: a text with a new character would have no ids")
	case *v.UnkID < 0 || *v.UnkID >= len(rows):
		b.fail(part{path: "model.unk_id"}, "%d is not in the vocabulary of %d tokens", *v.UnkID, len(rows))
	}
}

// parseScore reads a number as the vendor's JSON reader does: digits up to 64 bits, then one multiplication or division
// by a power of ten. That can be a last bit off, and with it goes the choice between two ways to cut a text that are
// equally good.
func parseScore(text string) (float64, error) {
	digits, exponent, point, full := uint64(0), 0, false, false
	i := 0
	for ; i < len(text) && text[i] != 'e' && text[i] != 'E'; i++ {
		switch c := text[i]; {
		case c == '.':
			point = true
		case c >= '0' && c <= '9':
			high, low := bits.Mul64(digits, 10)
			sum, carry := bits.Add64(low, uint64(c-'0'), 0)
			if full = full || high != 0 || carry != 0; !full {
				digits = sum
			}
			switch {
			case point && !full:
				exponent--
			case !point && full:
				exponent++
			}
		}
	}
	if i < len(text) {
		e, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || e > 1000 || e < -1000 {
			return 0, fmt.Errorf("the score %s is out of range", text)
		}
		exponent += e
	}
	power, err := strconv.ParseFloat("1e"+strconv.Itoa(max(exponent, -exponent)), 64)
	if err != nil {
		return 0, fmt.Errorf("the score %s is out of range", text)
	}
	score := float64(digits)
	if exponent < 0 {
		score /= power
	} else {
		score *= power
	}
	if strings.HasPrefix(text, "-") {
		score = -score
	}
	return score, nil
}

// addTokens gives the added tokens their ids as Hugging Face does: the vocabulary's, or the next that is free.
func (b *builder) addTokens(t *Tokenizer, added []AddedToken) {
	size := len(t.ids)
	next := size
	for i, a := range added {
		where := part{path: fmt.Sprintf("added_tokens[%d]", i)}
		if a.Content == "" || !utf8.ValidString(a.Content) {
			b.fail(where, "its content is empty")
			return
		}
		id, known := t.ids[a.Content]
		if !known {
			id = int32(next)
		}
		if id != a.ID || id < 0 || id > maxID {
			b.fail(where, "%q is to have the id %d, but the vocabulary gives it %d", a.Content, a.ID, id)
			return
		}
		if !known {
			for len(t.tokens) <= int(id) {
				t.tokens = append(t.tokens, "")
			}
			t.tokens[id], t.ids[a.Content] = a.Content, id
			next = max(next, int(id)) + 1
		}
	}
	t.setAddedTokens(added)
}

// postProcessor returns the ids that go before and behind a text.
func (b *builder) postProcessor(t *Tokenizer, p part) (prefix, suffix []int32) {
	if p.null() {
		return nil, nil
	}
	type special struct {
		ID  string
		IDs []int32
	}
	var o struct {
		Processors []part
		Single     []struct {
			SpecialToken *special
			Sequence     *special
		}
		SpecialTokens map[string]special
		Cls, Sep      jsontext.Value
	}
	switch kind := b.read(p, &o); kind {
	case "ByteLevel": // changes offsets only
	case "Sequence":
		for i, sub := range o.Processors {
			before, after := b.postProcessor(t, sub.at(p, "processors", i))
			prefix, suffix = append(before, prefix...), append(suffix, after...)
		}
	case "TemplateProcessing":
		seen := false
		for _, piece := range o.Single {
			switch {
			case piece.Sequence != nil && piece.Sequence.ID == "A" && !seen:
				seen = true
			case piece.SpecialToken != nil && o.SpecialTokens[piece.SpecialToken.ID].IDs != nil:
				ids := o.SpecialTokens[piece.SpecialToken.ID].IDs
				if seen {
					suffix = append(suffix, ids...)
				} else {
					prefix = append(prefix, ids...)
				}
			default:
				b.fail(p, "its single template is not special tokens around one sequence A")
			}
		}
	case "RobertaProcessing":
		prefix, suffix = b.markers(p, o.Cls), b.markers(p, o.Sep)
	default:
		b.unsupportedKind(p, kind, "ByteLevel, RobertaProcessing, Sequence, TemplateProcessing")
	}
	for _, id := range append(prefix[:len(prefix):len(prefix)], suffix...) {
		if !t.valid(id) {
			b.fail(p, "it adds the id %d, which is not in the vocabulary", id)
		}
	}
	return prefix, suffix
}

// markers reads ["<s>", 0].
func (b *builder) markers(p part, raw jsontext.Value) []int32 {
	var pair []jsontext.Value
	var id int32
	err := json.Unmarshal(raw, &pair)
	if err == nil && len(pair) != 2 {
		err = errors.New("it is not a pair")
	}
	if err == nil {
		err = json.Unmarshal(pair[1], &id)
	}
	if err != nil {
		b.fail(p, "its cls or sep is not a pair of token and id: %w", err)
	}
	return []int32{id}
}
