package programs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Rows are the rows of a text that has no names of columns: a list of lists of JSON, or of Python's tuples. It is nil
// where the text is something else, or the rows are not equally long.
func Rows(text string) (rows [][]any) {
	raw := []byte(strings.TrimSpace(text))
	if !json.Valid(raw) {
		raw, _ = pythonToJSON(string(raw))
	}
	var list [][]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&list) != nil {
		return nil
	}
	for _, row := range list {
		if len(row) == 0 || len(row) != len(list[0]) {
			return nil
		}
		for i, value := range row {
			switch v := value.(type) {
			case nil, string, bool:
			case json.Number:
				row[i] = numberOf(v.String())
			default:
				return nil
			}
		}
	}
	return list
}

// Named are rows with the names of their columns; nil where there are more or fewer of these.
func Named(names []string, rows [][]any) (records []Record) {
	for _, row := range rows {
		if len(row) != len(names) {
			return nil
		}
		records = append(records, Record{Names: names, Values: row})
	}
	return records
}

var (
	pythonDate    = regexp.MustCompile(`datetime\.date(?:time)?\((\d+(?:, ?\d+)+)\)`)
	pythonDecimal = regexp.MustCompile(`\bDecimal\('([-+.\dE]+)'\)`)
)

// PlainPython writes the dates and decimals that repr prints as texts and numbers: datetime.date(2025, 3, 5) as
// '2025-03-05', Decimal('2.80') as 2.80.
func PlainPython(text string) string {
	text = pythonDate.ReplaceAllStringFunc(text, func(date string) string {
		var parts []int
		for part := range strings.SplitSeq(pythonDate.FindStringSubmatch(date)[1], ",") {
			n, _ := strconv.Atoi(strings.TrimSpace(part)) // digits
			parts = append(parts, n)
		}
		for len(parts) < 6 {
			parts = append(parts, 0)
		}
		day := fmt.Sprintf("%04d-%02d-%02d", parts[0], parts[1], parts[2])
		if strings.Contains(date, "datetime(") {
			day += fmt.Sprintf(" %02d:%02d:%02d", parts[3], parts[4], parts[5])
		}
		return "'" + day + "'"
	})
	return pythonDecimal.ReplaceAllString(text, "$1")
}

// pythonToJSON turns what repr prints of lists, tuples, dicts and scalars into JSON.
func pythonToJSON(text string) ([]byte, bool) {
	text = PlainPython(text)
	var b bytes.Buffer
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			var s strings.Builder
			i++
			for i < len(text) && text[i] != c {
				if text[i] == '\\' && i+1 < len(text) {
					i++
					switch text[i] {
					case 'n':
						s.WriteByte('\n')
					case 't':
						s.WriteByte('\t')
					default:
						s.WriteByte(text[i])
					}
				} else {
					s.WriteByte(text[i])
				}
				i++
			}
			if i == len(text) {
				return nil, false
			}
			i++
			quoted, _ := json.Marshal(s.String()) // of a text
			b.Write(quoted)
		case strings.HasPrefix(text[i:], "None"):
			b.WriteString("null")
			i += 4
		case strings.HasPrefix(text[i:], "True"):
			b.WriteString("true")
			i += 4
		case strings.HasPrefix(text[i:], "False"):
			b.WriteString("false")
			i += 5
		case strings.HasPrefix(text[i:], ",)"): // a tuple of one
			b.WriteByte(']')
			i += 2
		case c == '(' || c == ')':
			b.WriteByte(map[byte]byte{'(': '[', ')': ']'}[c])
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.Bytes(), json.Valid(b.Bytes())
}
