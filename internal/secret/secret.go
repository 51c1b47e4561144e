// Package secret is text that is sent and never shown, such as a key.
package secret

import (
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Text is text that is sent but never shown: every way of printing, logging or encoding it gives "[redacted]".
type Text string

// Format covers all verbs of fmt.
func (Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// MarshalText covers JSON and YAML.
func (Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue covers slog.
func (Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// Scrub removes the secret where others put it into their own text, as some servers do in their error messages.
func (s Text) Scrub(text string) string {
	if s == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s), redacted)
}
