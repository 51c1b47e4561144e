package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Natural is a value that a person might give for a field of a thing, by the field's name: a title, an owner, a date.
// About are the words of what it is a field of. ok is false where the name tells nothing.
func Natural(r *rand.Rand, about []string, name string) (value string, ok bool) {
	words := strings.Fields(Words(name))
	has := func(list ...string) bool {
		return slices.ContainsFunc(
			words,
			func(w string) bool { return slices.Contains(list, w) || slices.Contains(list, singular(w)) },
		)
	}
	is := func(list ...string) bool {
		return slices.ContainsFunc(
			about,
			func(w string) bool { return slices.Contains(list, w) || slices.Contains(list, singular(w)) },
		)
	}
	switch {
	case has("email", "mail"):
		return inventName(r, "email"), true
	case has("phone", "telephone", "mobile"):
		return fmt.Sprintf("555-%04d", r.IntN(10000)), true
	case has("date", "due", "deadline", "day", "until") && !has("days"):
		return fmt.Sprintf("%d-%02d-%02d", 2027+r.IntN(3), 1+r.IntN(12), 1+r.IntN(28)), true
	case has("priority", "importance", "severity"):
		return pick(r, []string{"low", "medium", "high"}), true
	case has("status", "state"):
		return pick(r, []string{"open", "in progress", "done"}), true
	case has("tag", "label", "keyword"):
		return pick(r, []string{"home", "work", "urgent", "garden", "money", "family", "travel", "health"}), true
	case has("owner", "assignee", "author", "person", "user", "contact", "customer", "member", "by", "who") ||
		has("name") && is("person", "contact", "user", "member", "customer", "employee"):
		return inventName(r, "person"), true
	case has("city", "town", "location", "place"):
		return inventName(r, "city"), true
	case has("color", "colour"):
		return inventName(r, "color"), true
	case has("type", "category", "kind", "group", "folder") && is("entity", "node"):
		return pick(r, []string{"person", "person", "person", "company", "project", "city", "event"}), true
	case has("category", "group", "kind", "section", "list", "column"):
		return pick(r, []string{"Kitchen", "Garden", "Office", "School", "Holiday", "Health", "Finance"}), true
	case has("relation") || has("type") && is("relation", "edge", "link"):
		return pick(
			r,
			[]string{"works_at", "lives_in", "knows", "manages", "married_to", "organizes", "member_of"},
		), true
	case has("observation", "fact") || has("content", "contents") && is("observation"):
		return Fact(r), true
	case has("description", "content", "contents", "body", "detail", "note", "comment", "text", "summary",
		"message", "reason"):
		return pick(r, remarks()), true
	case has("title", "task", "todo", "subject", "item", "name", "request") &&
		is("task", "todo", "item", "issue", "ticket", "card", "reminder", "request", "chore", "story", "bug"):
		return pick(r, chores()), true
	case has("title", "headline", "subject") && is("note", "page", "document", "entry", "memo"):
		return pick(
			r,
			[]string{"Meeting", "Recipe", "Packing list", "Ideas", "Budget", "Shopping", "Reading list"},
		) + " " + pick(
			r,
			[]string{"for June", "for the trip", "with Ana", "2026", "at the office", "for Sunday"},
		), true
	case has("project", "title", "name"):
		return inventName(r, "project"), true
	}
	return "", false
}

// Fact is something that a person might note down of somebody.
func Fact(r *rand.Rand) string {
	return pick(
		r,
		[]string{
			"Speaks " + pick(r, []string{"Spanish", "German", "Polish", "Turkish", "French"}),
			"Born in " + fmt.Sprint(1955+r.IntN(50)),
			"Allergic to " + pick(r, []string{"nuts", "cats", "pollen", "penicillin"}),
			"Likes " + pick(
				r,
				[]string{"tea", "chess", "sailing", "jazz", "hiking"},
			),
			"Moved to " + inventName(r, "city") + " in " + fmt.Sprint(2010+r.IntN(15)),
			"Plays the " + pick(r, []string{"violin", "piano", "drums", "cello"}),
			"Drives a " + inventName(
				r,
				"color",
			) + " " + pick(
				r,
				[]string{"Volvo", "Fiat", "Skoda"},
			),
			"Works on " + pick(r, []string{"Mondays", "Tuesdays", "weekends"}),
			"Has " + pick(
				r,
				[]string{"two", "three", "four"},
			) + " " + pick(
				r,
				[]string{"children", "cats", "brothers"},
			),
			"Prefers " + pick(r, []string{"email", "the phone", "letters", "short calls"}),
		},
	)
}

func chores() []string {
	return splitList(
		`Buy milk,Fix the kitchen tap,Call the plumber,Water the plants,Write the report,Book the flights,
Renew the passport,Paint the fence,Clean the garage,Order new chairs,Pay the rent,
Plan the birthday party,Update the website,Review the contract,Send the invoices,Repair the bike,
Return the library books,Cancel the gym membership,Prepare the slides,Test the login page,
Translate the manual,Visit the dentist,Sort the photos,Bake a cake,Change the tyres,
Back up the laptop,Interview the new designer,Pick up the parcel,Refill the printer,
Feed the neighbour's cat`,
		",",
	)
}

func remarks() []string {
	return splitList(
		`before the weekend|ask Ben for the key|the blue one is enough|see the mail of Tuesday|
takes about an hour|budget is 200|needs two people|bring the receipts|Ana knows the details|
not before noon|use the old form|wait for the invoice|the shop closes at six|compare three offers`,
		"|",
	)
}

// NameOf is a name for a thing of a type; ok is false where the type tells nothing.
func NameOf(r *rand.Rand, kind string) (name string, ok bool) {
	switch kind {
	case "person":
		return inventName(r, "person"), true
	case "city", "event", "company", "project":
		return inventName(r, kind), true
	}
	return "", false
}
