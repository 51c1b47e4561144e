package fault

// LeftAside is the line that tells what a reader did not take of what it read: of results, rows, configurations and requests
// alike.
func LeftAside(what, where string) string { return "left aside: " + what + ", in " + where }
