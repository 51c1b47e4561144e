package folders

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// overDays are kits of which the days matter: who does what when, until when, and what was on which day.
func overDays() []func(*rand.Rand, map[string]string, string) {
	return []func(*rand.Rand, map[string]string, string){addPlan, addRota, addLoans, addNumbered, addStayList,
		addMeetings, addJournal}
}

// overDayKits is how many of them a folder has.
const overDayKits = 2

// overDayStructures are those that need such kits.
func overDayStructures() []structure {
	return []structure{
		{programs.Several, (*drawer).planLater}, {programs.ActIf, (*drawer).planIf},
		{programs.Several, (*drawer).rotaOut}, {Organize, (*drawer).rotaSwap}, {programs.Set, (*drawer).rotaTake},
		{programs.Set, (*drawer).loanHome}, {programs.ActIf, (*drawer).loanWant}, {programs.Several,
			(*drawer).loanBoth},
		{programs.Insert, (*drawer).pointIn}, {programs.Lookup, (*drawer).stayAsked},
		{programs.YesNo, (*drawer).freeAsked},
		{programs.List, (*drawer).decided}, {programs.Insert, (*drawer).minutesWrong},
		{programs.Insert, (*drawer).entryTop},
	}
}

// tableText is the text of a file of rows: with commas, or with bars below a heading and above a remark.
func tableText(bars bool, title, remark string, header []string, rows [][]string) string {
	if !bars {
		text := strings.Join(header, ",") + "\n"
		for _, row := range rows {
			text += strings.Join(row, ",") + "\n"
		}
		return text
	}
	text := "# " + title + "\n\n| " + strings.Join(header, " | ") + " |\n" + strings.Repeat("|---", len(header)) + "|\n"
	for _, row := range rows {
		text += "| " + strings.Join(row, " | ") + " |\n"
	}
	if remark != "" {
		text += "\n" + remark + "\n"
	}
	return text
}

// tableExt is the ending of a file of rows.
func tableExt(bars bool) string { return map[bool]string{true: ".md", false: ".csv"}[bars] }

// dayForm draws how a file writes days.
func dayForm(r *rand.Rand) string {
	return pick(r, append(dayForms(), time.DateOnly, time.DateOnly, time.DateOnly))
}

// someDay is a day of the year that folders are of.
func someDay(r *rand.Rand, month, months int) time.Time {
	return time.Date(2026, time.Month(month+r.IntN(months)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
}

// callNames are those by which people call each other.
func callNames(r *rand.Rand, n int) (list []string) {
	all := split("Agnes|Bram|Carla|Dieter|Edda|Felix|Greta|Hugo|Imke|Janne|Katya|Lorenz|Maren|Nils|Odile|Piet|" +
		"Quentin|Runa|Sanne|Theo|Ulla|Viktor|Wanda|Yves|Zora|Birgit|Fergus|Noor|Tarek|Lucie")
	for _, i := range r.Perm(len(all))[:n] {
		list = append(list, all[i])
	}
	return list
}

// addPlan is a plan of steps with their days, and a file of days one of which it should be ready for.
func addPlan(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("boat-refit;Refit of the Marie;launch day;haul out,scrape the hull,new planks,"+
		"caulk the seams,paint the deck,rig the mast,trial run|"+
		"garden-plan;The new beds;open garden;clear the plot,lay drains,build the frames,fill in soil,plant the hedge,"+
		"gravel the paths|"+
		"exhibition;Exhibition;first showing;empty the rooms,whitewash,build plinths,hang the pictures,set the lamps,"+
		"print labels|"+
		"roof-works;Roof of the barn;harvest supper;put up scaffold,strip the slates,mend battens,lay felt,new slates,"+
		"take scaffold down|"+
		"play-schedule;The autumn play;opening night;auditions,first reading,build the set,sew costumes,lighting,"+
		"dress rehearsal|"+
		"yearbook;Yearbook;members' evening;collect texts,choose photos,lay out pages,proofreading,print run,send out|"+
		"office-move;Moving the office;visit of the board;order boxes,sort the archive,pack the desks,new cables,"+
		"transport,unpack")), ";")
	heads := strings.Split(pick(r, split("step,who,from,to|task,by,begin,end|stage,crew,start,finish|"+
		"job,person,first day,last day|phase,lead,begins,ends")), ",")
	names, form := callNames(r, 4), dayForm(r)
	day := someDay(r, 2, 7)
	var rows [][]string
	for _, step := range strings.Split(kind[3], ",") {
		end := day.AddDate(0, 0, r.IntN(7))
		rows = append(rows, []string{step, pick(r, names), day.Format(form), end.Format(form)})
		day = end.AddDate(0, 0, 1+r.IntN(3))
	}
	bars := r.IntN(3) > 0
	stem := kind[0]
	if bars && !strings.Contains(stem, "-") {
		stem += pick(r, split("-plan|-steps|-schedule"))
	}
	dir := path.Join(top, pick(r, []string{"", "", "plans", "projects"}))
	files[path.Join(dir, stem+tableExt(bars))] = tableText(bars, kind[1], pick(r, split("Who cannot keep a day says "+
		"so early.|Each step needs the one before.|Keys are with "+names[0]+".|Weekends are only for emergencies.")),
		heads, rows)
	addDates(r, files, top, kind[2], day.AddDate(0, 0, 1+r.IntN(16)))
}

// addDates are days of a year, one of which is given.
func addDates(r *rand.Rand, files map[string]string, top, name string, day time.Time) {
	form := dayForm(r)
	others := split("stocktaking|summer break|chimney sweep|spring clean|tax return|fire drill|annual meeting|key " +
		"check")
	days := []string{day.Format(form)}
	names := []string{name}
	for _, i := range r.Perm(len(others))[:3] {
		names, days = append(names, others[i]), append(days, someDay(r, 1, 12).Format(form))
	}
	var rows [][]string
	pairs := "# Days\n\n"
	for _, i := range r.Perm(len(names)) {
		rows = append(rows, []string{names[i], days[i]})
		pairs += fmt.Sprintf("- %s: %s\n", names[i], days[i])
	}
	stem := path.Join(top, pick(r, split("dates|calendar|year|key-dates")))
	if r.IntN(3) == 0 {
		files[stem+pick(r, split(".md|.txt"))] = pairs
		return
	}
	bars := r.IntN(2) == 0
	files[stem+tableExt(bars)] = tableText(bars, "Days of this year", "",
		strings.Split(pick(r, split("what,date|event,day|occasion,on")), ","), rows)
}

// addRota is a table of days with who has a duty on each.
func addRota(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("greenhouse-rota;Greenhouse;date,visitors,opens;school class,walkers,students,"+
		"nobody|bar-duty;Bar duty;evening,on stage,bar;quiz,choir,open stage,film|"+
		"dog-walks;Dog walks;day,route,walks;river,forest,park,dyke|"+
		"ferry-watch;Ferry watch;day,tide,crew;high,low,neap,spring|"+
		"reading-hours;Reading hours;afternoon,group,reader;infants,juniors,parents|"+
		"pool-guard;Guards at the pool;date,session,guard;early swim,lessons,open hours|"+
		"kiosk-days;Kiosk;date,goods in,who sells;bread,drinks,ice|"+
		"oven-days;Baking days;day,dough,bakes;rye,wheat,spelt|"+
		"museum-keys;Who opens the museum;day,tour,who;morning,afternoon,none")), ";")
	names, form := callNames(r, 4+r.IntN(2)), dayForm(r)
	values := strings.Split(kind[3], ",")
	day := someDay(r, 1, 8)
	var rows [][]string
	before := ""
	for range 9 + r.IntN(4) {
		who := pick(r, names[:3])
		if r.IntN(3) == 0 || who == before {
			who = pick(r, names)
		}
		before = who
		rows = append(rows, []string{day.Format(form), pick(r, values), who})
		day = day.AddDate(0, 0, 4+r.IntN(6))
	}
	header := strings.Split(kind[2], ",")
	if r.IntN(2) == 0 {
		header = append(header, pick(r, split("remark|notes")))
		for i := range rows {
			rows[i] = append(rows[i], pick(r, []string{"", "", "", "bring the keys", "short day", "two hours"}))
		}
	}
	bars := r.IntN(3) > 0
	files[path.Join(top, pick(r, []string{"", "", "team", "rotas"}), kind[0]+tableExt(bars))] = tableText(bars, kind[1],
		pick(r, split("Who cannot come finds somebody and writes it here.|Swaps are noted in the table.|"+
			names[0]+" has the spare key.")), header, rows)
}
