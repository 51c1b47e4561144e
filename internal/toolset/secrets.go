package toolset

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/blob"
	"hone/internal/fault"
)

// secretsFile is where a server's secrets are, from the folder of its configuration. The sandbox keeps files called
// .env.* from servers, also from those that may read the folder.
func secretsFile(name string) string { return filepath.Join(".hone", "secrets", ".env."+name) }

// keepSecrets writes a server's secrets into a file that only the user can read, and returns its path as the server's
// entry names it; "" without secrets. A keyring would ask for a desktop's session, which the machines that train seldom
// have.
func keepSecrets(file, name string, secrets map[string]string) (string, error) {
	if len(secrets) == 0 {
		return "", nil
	}
	bad := func(err error) error {
		return &fault.Error{Code: fault.CodeExhausted, What: "cannot keep the server's secrets",
			Where: secretsFile(name), Err: err, Next: "make the folder of the configuration writable"}
	}
	path := filepath.Join(filepath.Dir(file), secretsFile(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", bad(err)
	}
	// lest they be committed
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return "", bad(err)
	}
	var text strings.Builder
	for _, variable := range slices.Sorted(maps.Keys(secrets)) {
		if strings.ContainsAny(secrets[variable], "\r\n\x00") {
			return "", bad(fmt.Errorf("%s has more than one line", variable))
		}
		fmt.Fprintf(&text, "%s=\"%s\"\n", variable, secrets[variable])
	}
	if err := blob.Write(path, []byte(text.String()), 0o600); err != nil {
		return "", bad(err)
	}
	return secretsFile(name), nil
}
