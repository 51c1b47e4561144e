package tokenizer

import (
	"slices"
	"sort"
)

// trie finds the keys that a text begins with. Nodes are numbers, 0 is the root; a node's children lie side by side.
type trie struct {
	root     [256]int32 // children of the root, 0 where there is none
	children []edges    // by node
	labels   []byte     // of each edge
	targets  []int32    // of each edge
	values   []int32    // by node; -1 where no key ends
}

type edges struct{ start, end int32 }

// newTrie makes a trie of keys, of which none is empty and none is twice; the value of a key is what id says.
func newTrie(ids map[string]int32) *trie {
	keys := make([]string, 0, len(ids))
	for key := range ids {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	t := &trie{children: make([]edges, 1), values: []int32{-1}}
	type group struct {
		node   int32
		keys   []string
		prefix int
	}
	for todo := []group{{0, keys, 0}}; len(todo) > 0; todo = todo[1:] {
		g := todo[0]
		if len(g.keys) > 0 && len(g.keys[0]) == g.prefix {
			t.values[g.node] = ids[g.keys[0]]
			g.keys = g.keys[1:]
		}
		t.children[g.node].start = int32(len(t.labels))
		for len(g.keys) > 0 {
			b := g.keys[0][g.prefix]
			n := sort.Search(len(g.keys), func(i int) bool { return g.keys[i][g.prefix] > b })
			child := int32(len(t.values))
			t.labels, t.targets = append(t.labels, b), append(t.targets, child)
			t.children, t.values = append(t.children, edges{}), append(t.values, -1)
			todo = append(todo, group{child, g.keys[:n], g.prefix + 1})
			g.keys = g.keys[n:]
			if g.node == 0 {
				t.root[b] = child
			}
		}
		t.children[g.node].end = int32(len(t.labels))
	}
	return t
}

// step is the child of node along b, 0 where there is none.
func (t *trie) step(node int32, b byte) int32 {
	if node == 0 {
		return t.root[b]
	}
	e := t.children[node]
	labels := t.labels[e.start:e.end]
	if len(labels) <= 8 {
		for i, label := range labels {
			if label == b {
				return t.targets[int(e.start)+i]
			}
		}
		return 0
	}
	if i, ok := slices.BinarySearch(labels, b); ok {
		return t.targets[int(e.start)+i]
	}
	return 0
}

// longest returns the value and the length of the longest key that text begins with; length 0 where there is none.
func (t *trie) longest(text string) (value int32, length int) {
	node := int32(0)
	for i := range len(text) {
		if node = t.step(node, text[i]); node == 0 {
			break
		}
		if t.values[node] >= 0 {
			value, length = t.values[node], i+1
		}
	}
	return value, length
}
