package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is SentencePiece's table of rewrites (precompiled_charsmap): a double-array trie in the layout of
// darts-clone, whose values are places in a text of replacements that end with NUL.
type charsmap struct {
	units        []uint32
	replacements string
	plain        [utf8.RuneSelf]bool // ASCII that no rewrite begins with
}

// maxRewritten is how long a grapheme cluster may be, in bytes, to be rewritten as one: the vendor's bound.
const maxRewritten = 5

// charsmapNormalizer builds a "Precompiled" from its base64 text.
func (b *builder) charsmapNormalizer(p part, text *string) normalizer {
	var data []byte
	err := errors.New("it is missing")
	if text != nil {
		data, err = base64.StdEncoding.Strict().DecodeString(*text)
	}
	var c *charsmap
	if err == nil {
		c, err = newCharsmap(data)
	}
	if err != nil {
		b.fail(part{path: p.path + ".precompiled_charsmap"}, "%w", err)
		return nil
	}
	b.rewrite = c.normalize
	return c.normalize
}

// newCharsmap reads the size of the trie in bytes, the trie in units of 32 bits, little-endian, and the replacements.
func newCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("it has %d bytes, too few for its own size", len(data))
	}
	size := int(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if size == 0 || size%4 != 0 || size > len(data) {
		return nil, fmt.Errorf("its trie is to have %d bytes; %d follow", size, len(data))
	}
	c := &charsmap{units: make([]uint32, size/4), replacements: string(data[size:])}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.ValidString(c.replacements) {
		return nil, errors.New("its replacements are not UTF-8")
	}
	for i, unit := range c.units {
		if unit>>31 == 0 && unit>>8&1 == 1 {
			if leaf := c.children(uint32(i)); leaf >= uint32(len(c.units)) || !c.replaces(c.units[leaf]&(1<<31-1)) {
				return nil, fmt.Errorf("unit %d of its trie leads out of it", i)
			}
		}
	}
	root := c.children(0)
	for b := range c.plain {
		_, ok := c.child(root, byte(b))
		c.plain[b] = !ok
	}
	return c, nil
}

// replaces reports whether a replacement can begin at a place.
func (c *charsmap) replaces(at uint32) bool {
	return at == uint32(len(c.replacements)) || at < uint32(len(c.replacements)) && utf8.RuneStart(c.replacements[at])
}

// children is what the labels of a node's children are combined with to find them.
func (c *charsmap) children(node uint32) uint32 {
	unit := c.units[node]
	return node ^ unit>>10<<(unit>>6&8)
}

// child is the node along b from a node with these children.
func (c *charsmap) child(children uint32, b byte) (node uint32, ok bool) {
	node = children ^ uint32(b)
	return node, b != 0 && node < uint32(len(c.units)) && c.units[node]&(1<<31|0xFF) == uint32(b)
}

// rewrite returns what stands for text: the replacement of the shortest key it begins with, whatever follows. Longer
// keys do not count, which is the vendor's way.
func (c *charsmap) rewrite(text string) (string, bool) {
	children := c.children(0)
	for i := range len(text) {
		node, ok := c.child(children, text[i])
		if !ok {
			return "", false
		}
		children = c.children(node)
		if c.units[node]>>8&1 == 1 {
			replacement, _, _ := strings.Cut(c.replacements[c.units[children]&(1<<31-1):], "\x00")
			return replacement, true
		}
	}
	return "", false
}

// normalize rewrites a text by grapheme clusters where those are short, else by characters.
func (c *charsmap) normalize(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for clusters := graphemes.FromString(text); clusters.Next(); {
		cluster := clusters.Value()
		if len(cluster) == 1 && cluster[0] < utf8.RuneSelf && c.plain[cluster[0]] {
			out.WriteByte(cluster[0])
			continue
		}
		if len(cluster) <= maxRewritten {
			if replacement, ok := c.rewrite(cluster); ok {
				out.WriteString(replacement)
				continue
			}
		}
		for size := 0; len(cluster) > 0; cluster = cluster[size:] {
			_, size = utf8.DecodeRuneInString(cluster)
			char := cluster[:size]
			if replacement, ok := c.rewrite(char); ok {
				char = replacement
			}
			out.WriteString(char)
		}
	}
	return out.String()
}
