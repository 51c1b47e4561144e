package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeStage is a step of decoding. Before a Fuse a stage gets whole tokens, after it fragments of the one token that
// all were fused into.
type decodeStage interface {
	next(text string, emit func(string))
	close(emit func(string))
}

// stageKind makes a stage for one stream.
type stageKind func() decodeStage

// buildDecoder builds the "decoder" of a tokenizer.json. A lone ByteLevel is done once for each token here.
func (b *builder) buildDecoder(t *Tokenizer, p part) {
	if p.null() {
		t.decoder = []stageKind{func() decodeStage { return &joiner{} }}
		return
	}
	var o struct{}
	if b.read(p, &o) == "ByteLevel" {
		t.useByteDecoder()
		return
	}
	fused := false
	t.decoder = b.decoder(p, &fused)
}

// useByteDecoder lets tokens be decoded as bytes in the byte alphabet.
func (t *Tokenizer) useByteDecoder() {
	a := newAlphabet()
	for id, text := range t.texts {
		t.texts[id], _ = a.decode(text)
	}
}

func (b *builder) decoder(p part, fused *bool) []stageKind {
	var o struct {
		Decoders       []part
		Pattern        pattern
		Content        string
		Start, Stop    int
		Replacement    string
		PrependScheme  string `json:"prepend_scheme"`
		AddPrefixSpace *bool  `json:"add_prefix_space"`
	}
	kind := b.read(p, &o)
	if kind == "Sequence" {
		var all []stageKind
		for i, sub := range o.Decoders {
			all = append(all, b.decoder(sub.at(p, "decoders", i), fused)...)
		}
		return all
	}
	stage := b.decodeStage(p, kind, decodeOptions{
		pattern: o.Pattern, content: o.Content, start: o.Start, stop: o.Stop, replacement: o.Replacement,
		scheme: o.PrependScheme, prefixSpace: o.AddPrefixSpace,
	})
	if b.err != nil {
		return nil
	}
	switch {
	case *fused && kind == "Strip" && o.Stop == 0:
		stage = func() decodeStage { return &frontStrip{char: o.Content, left: o.Start} }
	case *fused:
		stage = afterFuse(stage)
	}
	*fused = *fused || kind == "Fuse" || kind == "ByteLevel"
	return []stageKind{stage}
}

type decodeOptions struct {
	pattern             pattern
	content             string
	start, stop         int
	replacement, scheme string
	prefixSpace         *bool
}

func (b *builder) decodeStage(p part, kind string, o decodeOptions) stageKind {
	switch kind {
	case "ByteLevel":
		a := newAlphabet()
		return func() decodeStage { return &byteLevelDecoder{alphabet: a} }
	case "ByteFallback":
		return func() decodeStage { return &byteFallback{} }
	case "Fuse":
		return func() decodeStage { return mapper(func(text string) string { return text }) }
	case "Replace":
		replace := b.replace(p, o.pattern, o.content)
		return func() decodeStage { return mapper(replace) }
	case "Strip":
		if utf8.RuneCountInString(o.content) != 1 || o.start < 0 || o.stop < 0 {
			b.fail(p, "its content %q is not one character, or start or stop is below 0", o.content)
		}
		return func() decodeStage {
			return mapper(func(text string) string { return strip(text, o.content, o.start, o.stop) })
		}
	case "Metaspace":
		b.character(p, "replacement", o.replacement)
		drop := b.scheme(p, o.scheme, o.prefixSpace) != "never"
		return func() decodeStage { return &metaspaceDecoder{replacement: o.replacement, drop: drop} }
	}
	b.unsupportedKind(p, kind, "ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip")
	return nil
}

// mapper changes each token by itself.
type mapper func(string) string

func (m mapper) next(text string, emit func(string)) { emit(m(text)) }
func (m mapper) close(func(string))                  {}

// strip takes up to start and stop times char off the ends.
func strip(text, char string, start, stop int) string {
	for ; start > 0 && strings.HasPrefix(text, char); start-- {
		text = text[len(char):]
	}
	for ; stop > 0 && strings.HasSuffix(text, char); stop-- {
		text = text[:len(text)-len(char)]
	}
	return text
}

// joiner is what happens without a decoder: spaces between tokens.
type joiner struct{ started bool }

func (j *joiner) next(text string, emit func(string)) {
	if j.started {
		text = " " + text
	}
	j.started = true
	emit(text)
}

func (j *joiner) close(func(string)) {}

// byteLevelDecoder reads tokens in the byte alphabet.
type byteLevelDecoder struct {
	alphabet alphabet
	stream   byteStream
}

func (d *byteLevelDecoder) next(text string, emit func(string)) {
	bytes, _ := d.alphabet.decode(text)
	d.stream.next(bytes, emit)
}

func (d *byteLevelDecoder) close(emit func(string)) { d.stream.close(emit) }

// byteFallback reads runs of tokens like <0x0A> as bytes. A run that is not UTF-8 becomes one U+FFFD for each byte, so
// it is held until it ends.
type byteFallback struct{ run []byte }

func (d *byteFallback) next(text string, emit func(string)) {
	if len(text) == 6 && strings.HasPrefix(text, "<0x") && text[5] == '>' {
		if b, err := strconv.ParseUint(text[3:5], 16, 8); err == nil {
			d.run = append(d.run, byte(b))
			return
		}
	}
	d.close(emit)
	emit(text)
}

func (d *byteFallback) close(emit func(string)) {
	if len(d.run) == 0 {
		return
	}
	if utf8.Valid(d.run) {
		emit(string(d.run))
	} else {
		for range d.run {
			emit(string(utf8.RuneError))
		}
	}
	d.run = d.run[:0]
}

// metaspaceDecoder makes spaces of the visible ones; in the first token they are dropped.
type metaspaceDecoder struct {
	replacement string
	drop        bool
	started     bool
}

func (d *metaspaceDecoder) next(text string, emit func(string)) {
	space := " "
	if !d.started && d.drop {
		space = ""
	}
	d.started = true
	emit(strings.ReplaceAll(text, d.replacement, space))
}

func (d *metaspaceDecoder) close(func(string)) {}

// frontStrip takes up to left times char off the front of a fused text.
type frontStrip struct {
	char string
	left int
}

func (s *frontStrip) next(text string, emit func(string)) {
	for ; s.left > 0 && text != ""; s.left-- {
		rest, ok := strings.CutPrefix(text, s.char)
		if !ok {
			s.left = 0
			break
		}
		text = rest
	}
	emit(text)
}

func (s *frontStrip) close(func(string)) {}

// afterFuse makes a stage wait for the whole text, which is the only token there is after a Fuse.
func afterFuse(kind stageKind) stageKind {
	return func() decodeStage { return &whole{stage: kind()} }
}

type whole struct {
	stage decodeStage
	text  strings.Builder
}

func (w *whole) next(text string, _ func(string)) { w.text.WriteString(text) }

func (w *whole) close(emit func(string)) {
	if w.text.Len() > 0 {
		w.stage.next(w.text.String(), emit)
		w.stage.close(emit)
	}
}
