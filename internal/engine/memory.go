package engine

import (
	"fmt"

	"hone/internal/engine/stablehlo"
	"hone/internal/fault"
)

// Memory is what a compiled program needs of its device, in bytes.
type Memory = stablehlo.Memory

// Name is what the program was compiled as.
func (p *Program) Name() string { return p.name }

// DonatedSuffix ends the names of inputs that are donated.
const DonatedSuffix = stablehlo.DonatedSuffix

// InputNames returns what the inputs are called, donated ones with DonatedSuffix.
func (p *Program) InputNames() []string {
	names, _ := p.executable.Inputs()
	return names
}

// ResultNames returns what the outputs are called; nil where they have no names.
func (p *Program) ResultNames() []string { return p.results }

// HLO returns the StableHLO text the program was compiled from; empty on the pure-Go backend.
func (p *Program) HLO() string {
	if x, ok := p.executable.(*stablehlo.Executable); ok {
		return x.HLO
	}
	return ""
}

// Memory returns the compiler's statistics; false where there was no compiler: on the pure-Go backend and a dry engine.
func (p *Program) Memory() (Memory, bool) {
	if x, ok := p.executable.(*stablehlo.Executable); ok && x.HasProgram() {
		return x.Memory(), true
	}
	return Memory{}, false
}

// Measure compiles the StableHLO text of a program and returns the compiler's statistics; nothing is run or kept. The
// pure-Go backend has none.
func (e *Engine) Measure(hlo string) (Memory, error) {
	b, ok := e.backend.(*stablehlo.Backend)
	if !ok {
		return Memory{}, fmt.Errorf("the pure-Go backend has no memory statistics")
	}
	return b.Measure(hlo)
}

// OutOfMemory reports whether an error is the device's being full: a program's run, its compilation, or a buffer's.
func OutOfMemory(err error) bool {
	return err != nil && (fault.CodeOf(err) == fault.CodeExhausted || stablehlo.OutOfMemory(err))
}
