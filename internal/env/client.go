package env

import _ "embed" // the client's file

// Client is the Python file by which TRL's environment_factory speaks with hone env serve.
//
//go:embed hone_env.py
var Client string
