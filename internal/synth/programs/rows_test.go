package programs

import (
	"encoding/json"
	"testing"
)

func TestRows(t *testing.T) {
	for text, want := range map[string]string{
		`[(1, 'Ana'), (2, "Ben O'Ray")]`:                          `[[1,"Ana"],[2,"Ben O'Ray"]]`,
		`[('boats',), ('owners',)]`:                               `[["boats"],["owners"]]`,
		`[(1, datetime.date(2025, 3, 5), Decimal('2.80'), None)]`: `[[1,"2025-03-05",2.8,null]]`,
		`[(datetime.datetime(2025, 12, 5, 8, 30), True)]`:         `[["2025-12-05 08:30:00",true]]`,
		`[[1, "a (b)"], [2, "c,)"]]`:                              `[[1,"a (b)"],[2,"c,)"]]`,
		`[('a (b)', 1), ('c,)', 2)]`:                              `[["a (b)",1],["c,)",2]]`,
		`[]`:                                                      `[]`,
		`[(1, 2), (3,)]`:                                          `null`,
		`[(1, [2])]`:                                              `null`,
		`[{"id": 1}]`:                                             `null`,
		`Database error: no (1)`:                                  `null`,
	} {
		if got, _ := json.Marshal(Rows(text)); string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	names := []string{"id", "name"}
	if got := Named(names, Rows(`[(1, 'Ana')]`)); len(got) != 1 || got[0].Names[1] != "name" ||
		got[0].Values[1] != "Ana" {
		t.Error(got)
	}
	if got := Named(names, Rows(`[(1, 'Ana', 3)]`)); got != nil {
		t.Error(got)
	}
	if got := Records(`[{'at': datetime.date(2025, 3, 5), 'price': Decimal('9.50')}]`); len(got) != 1 ||
		got[0].Values[0] != "2025-03-05" || got[0].Values[1] != 9.5 {
		t.Error(got)
	}
}
