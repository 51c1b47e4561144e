package fault

import (
	"strconv"
	"strings"
)

// Count is a number with its noun, which is given for one: "1 tool", "2 tools", "0 trajectories".
func Count[N ~int | ~int64](n N, noun string) string {
	text := strconv.FormatInt(int64(n), 10) + " "
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return text + noun
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		return text + stem + "ies"
	default:
		return text + noun + "s"
	}
}
