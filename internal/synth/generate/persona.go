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

// example is a want, the values that a message has to say, and the message.
type example struct{ Wants, Values, Message string }

// examples are what messages of the tone read like. They speak of a dog that no record has.
func (t tone) examples() []example {
	return []example{
		{"to know the age of the dog Rex", "Rex", t.Asks},
		{"the age of the dog Rex changed to: 4", "Rex; 4", t.Acts},
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
