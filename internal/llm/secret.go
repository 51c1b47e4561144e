package llm

import "hone/internal/secret"

// Secret is a key that is sent but never shown.
type Secret = secret.Text
