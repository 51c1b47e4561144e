package stablehlo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/go-xla/pjrt"
)

// Memory is what a compiled program needs of its device, in bytes, by the compiler's own account
// (PJRT_Executable_GetCompiledMemoryStats).
type Memory struct {
	Inputs, Outputs int64
	Aliased         int64 // of the inputs, what outputs are written over
	Temporary       int64 // held only while the program runs
	Code            int64
}

// Total is all of it, aliased bytes counted once.
func (m Memory) Total() int64 { return m.Inputs + m.Outputs - m.Aliased + m.Temporary + m.Code }

func memoryOf(s pjrt.ExecutableMemoryUsageStats) Memory {
	return Memory{Inputs: s.Inputs, Outputs: s.Outputs, Aliased: s.Aliases, Temporary: s.Temporary,
		Code: s.GeneratedCode}
}

// HasProgram reports whether there is a program to run, and not its text alone.
func (e *Executable) HasProgram() bool { return e.program.LoadedExecutable != nil }

// Memory returns the statistics of the compiled program.
func (e *Executable) Memory() Memory { return e.program.memory }

// Measure compiles a program's text and returns its statistics; nothing is run.
func (b *Backend) Measure(text string) (Memory, error) {
	if b.dry != nil {
		return Memory{}, errors.New("there is no device to compile for")
	}
	p, err := b.load(text, 0)
	if err != nil {
		return Memory{}, fmt.Errorf("compiling to measure: %w", err)
	}
	return p.memory, p.Destroy()
}

// OutOfMemory reports whether an error is the device's being full. go-xla gives a plug-in's errors as text alone: their
// code, of which 8 is RESOURCE_EXHAUSTED (pjrt_c_api.h), and a message in which plug-ins may or may not say so.
func OutOfMemory(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "PJRT error (code=8):") || strings.Contains(text, "RESOURCE_EXHAUSTED")
}
