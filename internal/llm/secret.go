package llm

import "hone/internal/fault"

// Secret is a key that is sent but never shown.
type Secret = fault.Secret
