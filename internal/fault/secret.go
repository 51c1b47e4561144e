package fault

import (
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is text that is sent but never shown: every way of printing, logging or encoding it gives "[redacted]".
type Secret string

// Format covers all verbs of fmt.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// MarshalText covers JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue covers slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// Scrub removes the secret where others put it into their own text, as some servers do in their error messages.
func (s Secret) Scrub(text string) string {
	if s == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s), redacted)
}
