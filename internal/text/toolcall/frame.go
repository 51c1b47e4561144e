package toolcall

// Frame is how a form writes a call whose arguments stand there as the JSON they are: Open NAME Middle ARGUMENTS Close.
// Between stands before a next call; it is empty where the form does not write two calls as one beside the other.
type Frame struct{ Open, Middle, Close, Between string }

// What stands around the name in calls that are JSON.
const (
	nameKey      = `{"name": "`
	argumentsKey = `", "arguments": `
)

// Frame is false for forms that do not write arguments as JSON.
func (f Format) Frame() (Frame, bool) { return f.frame, f.frame != Frame{} }

// Marks are what a call begins with, and a message in words does not: the pieces of the frame's beginning up to the
// first one without which the form reads no call, however much space is written. A form without a frame has none.
// Llama's is a brace, which words may have as well.
func (f Format) Marks() []string { return f.marks }
