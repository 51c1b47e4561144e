package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// sortsOfNames are lists of names, each of one word, with the nouns of what is called so. What new things are called is
// drawn of the list that has a name of their kind, or else of that of their noun: no category is called Carla.
func sortsOfNames() []struct{ nouns, names string } {
	return []struct{ nouns, names string }{
		{"", strings.Join(firstNames(), ",")}, {"", strings.Join(lastNames(), ",")},
		{"pet animal cat dog horse pony rabbit hamster parrot",
			"Bella,Milo,Luna,Rocky,Coco,Nala,Simba,Oreo,Daisy,Teddy,Ginger,Pepper,Biscuit,Mochi,Rex,Tilly"},
		{"city town port harbour village destination", "Oslo,Lima,Porto,Ghent,Turin,Leeds,Lyon,Cork,Graz,Basel,Malmo," +
			"Tartu,Vigo,Bergen,Aarhus,Utrecht,Bremen,Lugano,Pisa,Split"},
		{"country", "Norway,Peru,Portugal,Belgium,Italy,Ireland,France,Austria,Estonia,Japan,Kenya"},
		{"ingredient", "flour,butter,rice,lentils,tomatoes,onions,garlic,cream,sugar,apples,basil,carrots,beans,eggs," +
			"milk,honey,walnuts,lemons,pepper,salt,yeast"},
		{"department ward",
			"Cardiology,Neurology,Oncology,Urology,Radiology,Dermatology,Pathology,Orthopaedics,Surgery"},
		{"department section division unit team", "Finance,Legal,Design,Sales,Support,Logistics,Research,Marketing," +
			"Procurement,Training,Archive"},
		{"category type kind genre class section", "Outdoor,Vintage,Seasonal,Premium,Everyday,Repair,Gifts,Imports"},
		{"site place location station stop room hall farm field garden building", "Foundry,Harbour,Orchard,Quarry," +
			"Meadow,Granary,Boathouse,Brewery,Sawmill,Tannery,Lighthouse"},
		{"hotel restaurant cafe museum shop", "Aurora,Bellevue,Central,Meridian,Panorama,Splendid,Metropol"},
	}
}

// hasSmall reports whether a name has small words behind a capital: "Chapel of Bones" and "Tile Museum" do not make a
// "Chapel of Museum".
func hasSmall(words []string) bool {
	small := func(w string) bool { return strings.ToLower(w[:1]) == w[:1] && strings.ToUpper(w[:1]) != w[:1] }
	return !small(words[0]) && slices.ContainsFunc(words[1:], small)
}

// newWord is a name of one word for a new thing of a table, where another one is called so; "" where none is known.
func newWord(r *rand.Rand, t *Table, like string) string {
	list := ""
	for _, sort := range sortsOfNames() {
		switch {
		case slices.Contains(strings.Split(strings.ToLower(sort.names), ","), strings.ToLower(like)):
			return pick(r, strings.Split(sort.names, ","))
		case list == "" && slices.Contains(strings.Fields(sort.nouns), lastWord(t.One)):
			list = sort.names
		}
	}
	switch {
	case t.OfPeople():
		return pick(r, []string{inventName(r, "first"), pick(r, lastNames())})
	case list != "":
		return pick(r, strings.Split(list, ","))
	}
	return ""
}
