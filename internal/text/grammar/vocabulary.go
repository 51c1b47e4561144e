package grammar

import (
	"sort"
	"strings"
	"unicode/utf8"

	"hone/internal/episode/policy"
)

// Token is one of a vocabulary.
type Token struct {
	Text  string // the bytes it stands for; "" where it is none
	Added bool   // it controls the model, or is markup of its template: no part of a value is written with it
}

// Vocabulary is a model's tokens as a tree of bytes. It may be used from many goroutines.
type Vocabulary struct {
	size    int
	all     tree
	added   []addedToken // the longest first
	texts   []Token
	longest int // bytes of a token
	// plain are the tokens that may stand anywhere within a JSON string, and change nothing of where it is: whole
	// characters, none of them escaped. They are most tokens. others is the tree of the rest.
	plain  *policy.IDSet
	others tree
}

// tree is of bytes; a token ends in the node of its last.
type tree []node

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
	v := &Vocabulary{size: size, all: make(tree, 1), others: make(tree, 1), texts: make([]Token, size),
		plain: policy.NewIDSet(size)}
	for id := range int32(size) {
		t := token(id)
		v.texts[id] = t
		switch {
		case t.Text == "":
		case t.Added:
			v.added = append(v.added, addedToken{t.Text, id})
		default:
			v.longest = max(v.longest, len(t.Text))
			v.all.insert(t.Text, id)
			if plain(t.Text) {
				v.plain.Add(id)
			} else {
				v.others.insert(t.Text, id)
			}
		}
	}
	sort.SliceStable(v.added, func(i, j int) bool { return len(v.added[i].text) > len(v.added[j].text) })
	return v
}

// plain reports whether a text is characters of a JSON string that are not escaped.
func plain(text string) bool {
	return utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7F || r == '"' || r == '\\' })
}

func (t *tree) insert(text string, id int32) {
	at := int32(0)
	for i := range len(text) {
		next := int32(-1)
		for _, c := range (*t)[at].children {
			if (*t)[c].b == text[i] {
				next = c
				break
			}
		}
		if next < 0 {
			next = int32(len(*t))
			*t = append(*t, node{b: text[i]})
			(*t)[at].children = append((*t)[at].children, next)
		}
		at = next
	}
	(*t)[at].ids = append((*t)[at].ids, id)
}

// addedTokenAt returns the longest added token that a text begins with, and its length; 0 where there is none.
func (v *Vocabulary) addedTokenAt(text string) (id int32, n int) {
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
