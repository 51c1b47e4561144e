package dataset

import (
	"fmt"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// AddUsage adds what an endpoint counted in one more turn of the row. The price of all is known where that of each is.
func (r *Row) AddUsage(u trajectory.Usage) {
	if r.Usage == nil {
		r.Usage = &u
		return
	}
	sum := trajectory.Usage{PromptTokens: r.Usage.PromptTokens + u.PromptTokens,
		CompletionTokens: r.Usage.CompletionTokens + u.CompletionTokens}
	if r.Usage.Cost != nil && u.Cost != nil {
		cost := *r.Usage.Cost + *u.Cost
		sum.Cost = &cost
	}
	r.Usage = &sum
}

// Bill is what traces took to collect, as far as they tell: tokens that an endpoint read and wrote, and US dollars.
type Bill struct {
	Counted, Priced                int // traces of which the tokens are known, and of which the price is
	PromptTokens, CompletionTokens int
	Dollars                        float64
}

// Add adds a row. Of the rows of one trace, one alone tells (Row.Usage).
func (b *Bill) Add(r *Row) {
	if r.Usage == nil {
		return
	}
	b.Counted++
	b.PromptTokens, b.CompletionTokens =
		b.PromptTokens+r.Usage.PromptTokens, b.CompletionTokens+r.Usage.CompletionTokens
	if r.Usage.Cost != nil {
		b.Priced++
		b.Dollars += *r.Usage.Cost
	}
}

// String is a line for a card; "" where no trace tells.
func (b Bill) String() string {
	if b.Counted == 0 {
		return ""
	}
	text := fmt.Sprintf("%s read and %d written by a model for %s",
		fault.Count(b.PromptTokens, "token"), b.CompletionTokens, fault.Count(b.Counted, "trace"))
	switch b.Priced {
	case 0:
		return text + ", at a price that is not known"
	case b.Counted:
		return text + fmt.Sprintf(", %.4f dollars", b.Dollars)
	}
	return text + fmt.Sprintf(", %.4f dollars for the %d of which the price is known", b.Dollars, b.Priced)
}
