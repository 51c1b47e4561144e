package report

import "io"

// WriteNumbers writes the page with numbers that may come from elsewhere.
func (p Page) WriteNumbers(w io.Writer, n Numbers) error { return p.writeHTML(w, n) }
