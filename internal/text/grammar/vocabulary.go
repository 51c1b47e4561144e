package grammar

import (
	"sort"
	"strings"
)

// Token is one of a vocabulary.
type Token struct {
	Text  string // the bytes it stands for; "" where it is none
	Added bool   // it controls the model, or is markup of its template: no part of a value is written with it
}

// Vocabulary is a model's tokens as a tree of bytes. It may be used from many goroutines.
type Vocabulary struct {
	size  int
	nodes []node
	added []addedToken // the longest first
	texts []Token
}

// node is a place in the tree: a byte behind the byte of its parent. Children stand in a row.
type node struct {
	children []int32
	ids      []int32 // tokens that end here
	b        byte
}

type addedToken struct {
	text string
	id   int32
}

// NewVocabulary makes the tree of the tokens 0 to size-1.
func NewVocabulary(size int, token func(id int32) Token) *Vocabulary {
	v := &Vocabulary{size: size, nodes: make([]node, 1), texts: make([]Token, size)}
	for id := range int32(size) {
		t := token(id)
		v.texts[id] = t
		switch {
		case t.Text == "":
		case t.Added:
			v.added = append(v.added, addedToken{t.Text, id})
		default:
			v.insert(t.Text, id)
		}
	}
	sort.SliceStable(v.added, func(i, j int) bool { return len(v.added[i].text) > len(v.added[j].text) })
	return v
}

func (v *Vocabulary) insert(text string, id int32) {
	at := int32(0)
	for i := range len(text) {
		next := int32(-1)
		for _, c := range v.nodes[at].children {
			if v.nodes[c].b == text[i] {
				next = c
				break
			}
		}
		if next < 0 {
			next = int32(len(v.nodes))
			v.nodes = append(v.nodes, node{b: text[i]})
			v.nodes[at].children = append(v.nodes[at].children, next)
		}
		at = next
	}
	v.nodes[at].ids = append(v.nodes[at].ids, id)
}

// addedAt returns the longest added token that a text begins with, and its length; 0 where there is none.
func (v *Vocabulary) addedAt(text string) (id int32, n int) {
	for _, a := range v.added {
		if strings.HasPrefix(text, a.text) {
			return a.id, len(a.text)
		}
	}
	return 0, 0
}

// token is a token of the vocabulary; none outside of it.
func (v *Vocabulary) token(id int32) Token {
	if id < 0 || int(id) >= v.size {
		return Token{}
	}
	return v.texts[id]
}
