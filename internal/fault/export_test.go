package fault

// Others is others, for a test that knows hone's keys.
func Others() map[string][]string { return others() }
