package generate

import (
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"sync"
)

//go:embed personas.json
var personasFile []byte

// tone is how somebody writes, with a message of that tone that asks for something and one that has something done.
type tone struct {
	How  string `json:"how"`
	Asks string `json:"asks"`
	Acts string `json:"acts"`
}

// example is a request in dry words, a tone, and the message that says it so.
type example struct{ Wants, Tone, Message string }

// examples are what messages read like: some of no tone, then those of the tone. They speak of dogs that no record has.
func (t tone) examples() []example {
	return []example{
		{"I would like to know how many dogs older than 5 there are.", "plainly",
			"How many of the dogs are older than 5?"},
		{
			"I would like a dog named Bello added with age 3 and kind pug, but only if there is none of that name yet.",
			"plainly",
			"Unless we have a dog called Bello already, add one: Bello, 3 years old, a pug.",
		},
		{"I would like to know whether there are any dogs of Ana, yes or no.", "plainly", "Does Ana have any dogs?"},
		{"I would like to know the age of the dog Rex.", t.How, t.Asks},
		{"I would like the age of the dog Rex changed to: 4.", t.How, t.Acts},
	}
}

// persona is who asks, and in which tone.
type persona struct {
	Who string
	tone
}

// personas are all that there are, by split: held-out tasks are asked by others than training's.
var personas = sync.OnceValue(func() (all struct {
	Who  map[string][]string `json:"who"`
	Tone map[string][]tone   `json:"tone"`
}) {
	if err := json.Unmarshal(personasFile, &all); err != nil {
		panic(err) // the file is compiled in
	}
	return all
})

// drawPersona draws who asks in a split.
func drawPersona(r *rand.Rand, split string) persona {
	return persona{pick(r, personas().Who[split]), pick(r, personas().Tone[split])}
}

// plainTone is the plainest of a split: the first.
func plainTone(split string) tone { return personas().Tone[split][0] }
