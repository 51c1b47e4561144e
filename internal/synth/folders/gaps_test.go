package folders

import (
	"strings"
	"testing"
)

const people = "Ana Lund         555-0101    ana@lund.example      keys\n" +
	"Bo Maes          555-0102    (no mail)\n" +
	"Cy Petit-Roux    555-0103    cy@post.example\n" +
	"Zoë Åberg        555-0104    zoe@post.example      chair\n"

// Columns without a header are known by what stands in them.
func TestReadGaps(t *testing.T) {
	tests := []struct{ text, columns string }{
		{people, "name phone number email"},
		{"WAITING\n\n2026-01-02  Ana Lund    any time\n2026-01-09  Bo Maes     May\n2026-02-01  Cy Petit    any time\n",
			"date name note"},
		{"red   4\nblue  5\ngreen 6\n", ""},                               // no names
		{"Ana Lund  555-0101\nBo Maes  555-0102\nCy Petit  555-0103", ""}, // nothing stands below each other
		{"a fine  day\nit was   late\nnobody  came\n", ""},
	}
	for _, test := range tests {
		d := Read("list.txt", test.text)
		var names []string
		if d.Table != nil {
			for _, c := range d.Table.Columns {
				names = append(names, c.Name)
			}
		}
		if got := strings.Join(names, " "); got != test.columns {
			t.Errorf("%q has the columns %q, not %q", test.text, got, test.columns)
		}
	}
}

// A cell changes where it stands, and what is behind it stays below the others.
func TestWithGapCell(t *testing.T) {
	d := Read("people.txt", people)
	tests := []struct {
		row, column int
		v           any
		want        string // "" where it cannot be
	}{
		{0, 1, "555-0999", "Ana Lund         555-0999    ana@lund.example      keys"},
		{0, 1, "555", "Ana Lund         555         ana@lund.example      keys"},
		{0, 1, "555-0999-1234", ""},
		{0, 2, "al@x.example", "Ana Lund         555-0101    al@x.example          keys"},
		{1, 2, "bo@maes.example", "Bo Maes          555-0102    bo@maes.example"},
		{3, 0, "Zoë Öst", "Zoë Öst          555-0104    zoe@post.example      chair"},
		{2, 2, nil, "Cy Petit-Roux    555-0103"},
	}
	for _, test := range tests {
		line, ok := d.withCell(d.lines()[d.rows[test.row]], test.column, d.Table.Rows[test.row][test.column], test.v)
		if ok != (test.want != "") || ok && line != test.want {
			t.Errorf("%q, not %q", line, test.want)
		}
	}
	if _, ok := d.withCell(d.lines()[0], 1, "555-7777", "555-1"); ok {
		t.Error("a value changes that does not stand there")
	}
	if line, ok := d.newRow([]string{"Di Ott", "", "di@ott.example"}); !ok ||
		line != "Di Ott                       di@ott.example" {
		t.Errorf("a new row is %q", line)
	}
	if line, ok := d.newRow([]string{"A name that is too long", "555-1", ""}); ok {
		t.Errorf("a row that does not fit is %q", line)
	}
}

// Things are called by the name of their file, or by the noun of their numbers, and never by another column.
func TestNounsOfFiles(t *testing.T) {
	tests := []struct{ file, text, many, label string }{
		{"plots.csv", "holder,size\nAna,3\nBo,4\nCy,5\n", "plots", "holder"},
		{"pantry.csv", "item,amount\noil,3\nrice,4\nsalt,5\n", "entries", "item"},
		{"rota.md", "| week | from | gate |\n|---|---|---|\n| 1 | May | Ana |\n| 2 | June | Bo |\n| 3 | July | Cy |\n",
			"weeks", "week"},
		{"trips.csv", "from,to,km\nRome,Bari,430\nBari,Lecce,150\nPisa,Rome,350\n", "", ""},
	}
	for _, test := range tests {
		d := Read(test.file, test.text)
		many, label := "", ""
		if d.hasTable() {
			many, label = d.Table.Many, d.Table.Columns[d.Table.Label].Name
		}
		if many != test.many || label != test.label {
			t.Errorf("%s lists %q by %q, not %q by %q", test.file, many, label, test.many, test.label)
		}
	}
}
