package render

import (
	"fmt"
	"io"
	"strings"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/text/tokenizer"
)

// View writes a training row for people: its text with what is trained in colour, or between « and », and where each
// message stands. Control characters are shown, not sent: tool results come from anyone, and the reader is a terminal.
// For the same reason text that spells a control token, and is none for the model, has its first character escaped:
// \u003c|im_end|>. What is not escaped is the token.
func View(w io.Writer, title string, s Sequence, messages []chat.Message, tok *tokenizer.Tokenizer, colour bool) error {
	trained, prompted, end := "«", "", "»"
	if colour {
		trained, prompted, end = "\x1b[1;32m", "\x1b[2m", "\x1b[0m"
	}
	var b strings.Builder
	total := 0
	for _, t := range s.Trained {
		if t {
			total++
		}
	}
	fmt.Fprintf(&b, "%s: %d tokens, %d trained\n", sanitize.Line(title), len(s.IDs), total)
	if s.Rewrite != "" {
		b.WriteString("begins anew: " + sanitize.Text(s.Rewrite) + "\n")
	}
	pieces, numAlike := piecesOf(s, tok)
	for from := 0; from < len(pieces); {
		var text strings.Builder
		to := from
		for ; to < len(pieces) && pieces[to].trained == pieces[from].trained; to++ {
			text.WriteString(sanitize.Text(pieces[to].text))
		}
		switch {
		case pieces[from].trained:
			b.WriteString(trained + text.String() + end)
		case colour:
			b.WriteString(prompted + text.String() + end)
		default:
			b.WriteString(text.String())
		}
		from = to
	}
	b.WriteString("\n")
	if numAlike > 0 {
		fmt.Fprintf(&b,
			"texts that look like a control token and are none: %d, each with its first character escaped\n", numAlike)
	}
	for _, span := range s.Spans {
		fmt.Fprintf(&b, "message %d, %s: tokens %d to %d\n",
			span.Message, sanitize.Line(string(messages[span.Message].Role)), span.Start, span.End-1)
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// piece is a control token, or a run of ordinary tokens that all are trained, or none.
type piece struct {
	text             string
	trained, control bool
}

// piecesOf cuts a row into pieces, and counts the control tokens that only look like one.
func piecesOf(s Sequence, tok *tokenizer.Tokenizer) (pieces []piece, numAlike int) {
	control := func(i int) bool {
		token, _ := tok.Token(s.IDs[i])
		return tok.IsAdded(s.IDs[i]) && !blank(token)
	}
	for from := 0; from < len(s.IDs); {
		p := piece{trained: s.Trained[from], control: control(from)}
		to := from + 1
		for !p.control && to < len(s.IDs) && s.Trained[to] == p.trained && !control(to) {
			to++
		}
		p.text = tok.Decode(s.IDs[from:to])
		// behind a token a leading space stays, which begins no text
		if n := len(pieces); n > 0 && pieces[n-1].control {
			p.text = strings.TrimPrefix(tok.Decode(s.IDs[from-1:to]), pieces[n-1].text)
		}
		pieces, from = append(pieces, p), to
	}
	d := newDanger(tok)
	for from := 0; from < len(pieces); {
		to := from
		for to < len(pieces) && !pieces[to].control {
			to++
		}
		numAlike += d.escapeAlike(pieces[from:to])
		from = to + 1
	}
	return pieces, numAlike
}

// escapeAlike escapes the beginning of each text that spells a control token in neighbouring ordinary pieces, and
// counts them. Such a text may reach from one piece into the next.
func (d *danger) escapeAlike(pieces []piece) int {
	var all strings.Builder
	for _, p := range pieces {
		all.WriteString(p.text)
	}
	text, n, at := all.String(), 0, 0
	for k, p := range pieces {
		var b strings.Builder
		for i, r := range p.text {
			if token := d.at(text, at+i); token == "" || blank(token) {
				b.WriteRune(r)
				continue
			}
			n++
			b.WriteString(sanitize.Escape(string(r), func(rune) bool { return true }))
		}
		at += len(p.text)
		pieces[k].text = b.String()
	}
	return n
}

// blank reports whether a token is white space alone, as the runs of spaces that some vocabularies add.
func blank(token string) bool {
	return strings.TrimSpace(strings.ReplaceAll(token, "▁", " ")) == ""
}
