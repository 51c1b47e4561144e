package report

import "io"

// UnitLast is unitLast.
var UnitLast = unitLast

// WriteNumbers writes the page with numbers that may come from elsewhere.
func (p Page) WriteNumbers(w io.Writer, n Numbers) error { return p.writeHTML(w, n) }
