package folders

import (
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// Folder is a folder with files of text in it, and folders.
type Folder struct {
	Docs []*Doc
	Dirs []string // all folders in it, by path; parents before children

	Unread []string // paths of hidden files, and of those that are no text

	Shown int // bytes of a call's result that a run shows; where all files fit they are read by one call

	tables *programs.World // that stand in the files
	guide  *guide          // nil: none
	twins  []twin          // files with the same rows
}

// Of reads a folder: the texts of its files by path, and the paths of the folders in it.
func Of(files map[string]string, dirs []string) *Folder {
	f := &Folder{Dirs: slices.Sorted(slices.Values(dirs))}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f.Docs = append(f.Docs, Read(file, files[file]))
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if !slices.Contains(f.Dirs, dir) {
				f.Dirs = append(f.Dirs, dir)
			}
		}
	}
	slices.Sort(f.Dirs)
	f.relate()
	if f.guide, f.twins = f.findGuide(), f.findTwins(); f.guide != nil {
		f.guide.doc.Items = nil // its lines are about files, and no list that somebody changes
	}
	return f
}

// relate finds what the tables of the files say of each other. Of two that are called the same one alone is asked for.
func (f *Folder) relate() {
	var tables []*programs.Table
	for _, d := range f.Docs {
		switch {
		case !d.hasTable():
			d.Table = nil
		case slices.ContainsFunc(tables, func(o *programs.Table) bool { return o.Name == d.Table.Name }):
			d.Table = nil
		default:
			tables = append(tables, d.Table)
		}
	}
	programs.Relate(tables)
	programs.Understand(tables)
	f.tables = &programs.World{Name: "folder", Tables: tables, Listed: true, Cased: true}
}

// of is the file that a table stands in.
func (f *Folder) of(t *programs.Table) *Doc {
	return f.Docs[slices.IndexFunc(f.Docs, func(d *Doc) bool { return d.Table == t })]
}

// doc is the file at a path; nil: there is none.
func (f *Folder) doc(file string) *Doc {
	for _, d := range f.Docs {
		if d.Path == file {
			return d
		}
	}
	return nil
}

// in are the files directly in a folder.
func (f *Folder) in(dir string) (list []*Doc) {
	for _, d := range f.Docs {
		if path.Dir(d.Path) == dir {
			list = append(list, d)
		}
	}
	return list
}

// has reports whether something is at a path.
func (f *Folder) has(file string) bool { return f.doc(file) != nil || slices.Contains(f.Dirs, file) }

// drawer draws programs over one folder.
type drawer struct {
	r     *rand.Rand
	f     *Folder
	can   Can
	call  map[*Doc]string // what a file is called in this request
	whole bool            // all files are read by one call
	deep  bool            // it is looked around by the tree, where there is one
	ops   []Op
	seen  map[string]bool // what was looked at
	notes []remark        // what is said of what was read
	about []*Doc          // what the request is about
}

// name is how a person calls a file: by its file name, where in the folder that is, or by what it is.
func (d *drawer) name(doc *Doc) string {
	if said := d.call[doc]; said != "" {
		return said
	}
	said := d.drawName(doc)
	d.call[doc] = said
	return said
}

func (d *drawer) drawName(doc *Doc) string {
	base, dir := path.Base(doc.Path), path.Dir(doc.Path)
	alone := true
	for _, o := range d.f.Docs {
		alone = alone && (o == doc || path.Base(o.Path) != base)
	}
	words := d.spoken(doc)
	if said := d.guided(doc); said != "" && d.r.IntN(3) == 0 {
		return said
	}
	switch n := d.r.IntN(100); {
	case words != "" && n < 75:
		return words
	case dir != "." && (n < 80 || !alone && n < 85):
		return doc.Path
	case dir != "." && (n < 86 || !alone):
		return base + " in " + d.folderName(dir)
	}
	return base
}

// datedName is the name of a file of some day: "sold 2026 07 11".
var datedName = regexp.MustCompile(`^([a-z][a-z ]*) (\d{4} \d{2} \d{2})$`)

// spoken is what a file is called by the words of its name: "the carrot cake recipe", "the party list", "the minutes of
// 2026-03-09"; "" where they do not tell it from others.
func (d *drawer) spoken(doc *Doc) string {
	stem := programs.Words(doc.stem())
	for _, o := range d.f.Docs {
		if said := programs.Words(o.stem()); o != doc && strings.Contains(" "+said+" ", " "+stem+" ") {
			return ""
		}
	}
	one, many := d.nounAbove(doc)
	if title := doc.title(); one != "" && fullName.MatchString(title) && strings.ToUpper(title[:1]) == title[:1] {
		return pick(d.r, []string{title + "'s file", "the file of " + title, "the file on " + title})
	}
	if m := datedName.FindStringSubmatch(stem); m != nil {
		return "the " + m[1] + pick(d.r, []string{" list of ", " file of "}) + strings.ReplaceAll(m[2], " ", "-")
	}
	switch {
	case hasDigit.MatchString(stem) && (one == "" || len(stem) < 3):
		return ""
	case hasDigit.MatchString(stem[:1]):
		if one == "minute" {
			one = many
		}
		return "the " + one + " of " + strings.ReplaceAll(stem, " ", "-")
	case hasDigit.MatchString(stem):
		return "the " + one + " " + strings.ReplaceAll(stem, " ", "-")
	case one != "" && one != "minute":
		return "the " + stem + " " + one
	case len(doc.Items) > 0 && !strings.Contains(stem, "list"):
		return pick(d.r, []string{"the ", "my ", "our "}) + stem + pick(d.r, []string{" list", " list", " file"})
	case strings.HasSuffix(stem, " list"):
		return "the " + stem
	case doc.Table != nil:
		return "the " + stem + pick(d.r, []string{" file", " table", " list", " file"})
	}
	return "the " + stem + " file"
}

// nounAbove is the noun of a folder that a file is in, where that is a plural: of recipes/cakes/lemon "cake" or
// "recipe".
func (d *drawer) nounAbove(doc *Doc) (one, many string) {
	for at := path.Dir(doc.Path); at != "."; at = path.Dir(at) {
		name := programs.Words(path.Base(at))
		if o, m := programs.Nouns(name); m == name && o != m && !strings.Contains(programs.Words(doc.stem()), o) &&
			!slices.Contains(vagueNouns(), o) && d.alike(doc) >= leastOfGroup {
			if one, many = o, m; d.r.IntN(2) == 0 {
				return one, many
			}
		}
	}
	return one, many
}

// vagueNouns are singulars of what folders are called that say nothing of a file in them.
func vagueNouns() []string {
	return strings.Fields("main extra other thing doc document file paper misc setting log note letter list archive")
}

// alike is how many files of its folder have the ending of a file.
func (d *drawer) alike(doc *Doc) (n int) {
	for _, o := range d.f.in(path.Dir(doc.Path)) {
		if path.Ext(o.Path) == path.Ext(doc.Path) {
			n++
		}
	}
	return n
}

// folderName is how a person calls a folder.
func (d *drawer) folderName(dir string) string {
	if dir == "." {
		return "the main folder"
	}
	base, alone := path.Base(dir), true
	for _, o := range d.f.Dirs {
		alone = alone && (o == dir || path.Base(o) != base)
	}
	if !alone || strings.Contains(dir, "/") && d.r.IntN(3) == 0 {
		return dir
	}
	return pick(d.r, []string{"the " + base + " folder", "the " + base + " folder", "the folder " + base, dir})
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
