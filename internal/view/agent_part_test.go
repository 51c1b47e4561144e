package view

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// A long text comes in parts that can be put together again, and none of them cuts a letter.
func TestPart(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("größer ", 9000), strings.Repeat("x", textAtOnce)} {
		whole, offset := "", 0
		for n := 0; ; n++ {
			got := textPart(text, offset)
			at := strings.LastIndex(got, "\n... ")
			if at < 0 {
				whole += got
				break
			}
			if _, err := fmt.Sscanf(got[strings.LastIndex(got, "next is ")+8:], "%d", &offset); err != nil || n > 9 {
				t.Fatalf("%v: %q", err, got[at:])
			}
			if whole += got[:at]; !utf8.ValidString(got) || len(got) > textAtOnce+99 {
				t.Errorf("a part of %d bytes cuts a letter, or is too long", len(got))
			}
		}
		if whole != text {
			t.Errorf("of %d bytes there are %d", len(text), len(whole))
		}
	}
}

func TestInstructionsAreTheSkillWithoutItsHead(t *testing.T) {
	if !strings.HasPrefix(Skill, "---\nname: hone\n") || !strings.HasPrefix(Instructions(), "# Work with hone") {
		t.Errorf("%.40q, %.40q", Skill, Instructions())
	}
}
