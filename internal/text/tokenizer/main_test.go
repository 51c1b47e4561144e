package tokenizer

import (
	"flag"
	"os"
	"testing"
)

// TestMain has properties draw fewer cases than rapid's 100 where the tag soak does not ask for all: most hold of 30
// kinds of tokenizers.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !soak && !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
