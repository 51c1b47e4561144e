package packages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/fault"
)

// Bounds of what a list may send.
const (
	mostPage  = 8 << 20 // bytes
	mostPages = 1000
	perPage   = 100
	tries     = 4 // of one page
	// longestWait is how long a list may have us wait before we ask again; one that wants more is told of.
	longestWait = time.Minute
	pageTime    = 30 * time.Second
)

// Client asks lists for their servers. The zero value works.
type Client struct {
	HTTP *http.Client // nil: http.DefaultClient
	// a key for a list, "" for none; sent to the list's own host only
	Key  func(s Source) string
	Wait func(ctx context.Context, d time.Duration) error // nil: by the clock
	Told func(format string, args ...any)                 // of waits; nil: nobody
}

// Query says which servers of a list.
type Query struct {
	Text  string    // words that the entry holds; the official API looks at names alone
	Since time.Time // updated since then, where the list can tell
	Limit int       // entries at most; 0: all
}

// Found is what a query found.
type Found struct {
	Entries []Entry
	Skipped []string
	More    bool // there are more than Limit
	Kept    int  // how many more the list says that it has, and gives no page of
}

// List returns the entries of a list that a query fits, in the list's order, deleted ones left out unless Since asks
// what changed.
func (c Client) List(ctx context.Context, s Source, q Query) (Found, error) {
	var f Found
	if s.url == "" {
		p, err := s.files()
		if err != nil {
			return f, err
		}
		f.take(p, q)
		return f, nil
	}
	seen, had := map[string]bool{}, map[string]bool{}
	legacy, sent := false, 0
	for cursor, n := "", 0; n < mostPages; n++ {
		data, err := c.get(ctx, s, s.page(q, cursor, legacy))
		if missing := (&statusError{}); errors.As(err, &missing) && missing.status == http.StatusNotFound && n == 0 &&
			s.form == formOfficial && !legacy {
			legacy, n = true, -1 // a registry of before v0.1
			continue
		}
		if err != nil {
			return f, unreachable(s, err)
		}
		p, err := Decode(data, s.Name)
		if err != nil {
			return f, &fault.Error{Code: fault.CodeUnavailable, What: "the registry's answer cannot be read",
				Where: s.url, Err: fault.JSON(err),
				Next: "look whether it is a registry: official, smithery=URL or glama=URL say which API"}
		}
		sent += len(p.Entries) + len(p.Skipped)
		// pages overlap where a list is sorted anew for each
		p.Entries = slices.DeleteFunc(p.Entries, func(e Entry) bool {
			again := had[e.Name+"@"+e.Version]
			had[e.Name+"@"+e.Version] = true
			return again
		})
		f.take(p, q)
		if p.next == "" && !f.More {
			f.Kept = max(p.total-sent, 0)
		}
		if p.next == "" || f.More {
			return f, nil
		}
		if seen[p.next] {
			return f, &fault.Error{Code: fault.CodeUnavailable, What: "the registry's pages go round in a circle",
				Where: s.url, Next: "use --limit, or another registry"}
		}
		seen[p.next], cursor = true, p.next
	}
	f.More = true
	return f, nil
}

func (f *Found) take(p Page, q Query) {
	f.Skipped = append(f.Skipped, p.Skipped...)
	for _, e := range p.Entries {
		if e.Status == "deleted" && q.Since.IsZero() || !e.matches(q.Text) ||
			!q.Since.IsZero() && !e.Updated.IsZero() && e.Updated.Before(q.Since) {
			continue
		}
		if q.Limit > 0 && len(f.Entries) == q.Limit {
			f.More = true
			return
		}
		f.Entries = append(f.Entries, e)
	}
}

// Get returns one entry of a list by its name, or by the part of it behind the slash where that is one entry's alone. A
// version may follow it behind @; without one it is the latest.
func (c Client) Get(ctx context.Context, s Source, name string) (Entry, error) {
	name, version := cutVersion(name)
	if s.url != "" && (strings.Contains(name, "/") || s.form == formSmithery) {
		if e, err := c.one(ctx, s, name, version); err == nil || !isMissing(err) {
			return e, err
		}
	}
	_, short, _ := strings.Cut(name, "/")
	f, err := c.List(ctx, s,
		Query{Text: map[bool]string{true: short, false: name}[s.url != "" && short != ""], Limit: 20_000})
	if err != nil {
		return Entry{}, err
	}
	var same, near []Entry
	for _, e := range f.Entries {
		if version != "" && e.Version != version {
			continue
		}
		_, last, _ := strings.Cut(e.Name, "/")
		if e.Name == name {
			same = append(same, e)
		} else if last == name {
			near = append(near, e)
		}
	}
	if len(same) == 0 {
		same = near
	}
	names := map[string]bool{}
	for _, e := range same {
		names[e.Name] = true
	}
	switch {
	case len(names) == 1:
		return c.Whole(ctx, s,
			slices.MaxFunc(same, func(a, b Entry) int { return compareVersions(a.Version, b.Version) }))
	case len(names) > 1:
		return Entry{}, &fault.Error{
			Code:  fault.CodeUsage,
			What:  fmt.Sprintf("%d servers are called %q", len(names), name),
			Where: s.Name,
			Next:  "give the whole name: " + same[0].Name + ", " + same[1].Name,
		}
	}
	search := "hone servers search"
	if s.Name != string(formOfficial) {
		search += " --registry " + s.Name
	}
	return Entry{}, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the list has no server %q", name),
		Where: s.Name, Next: search + " finds names"}
}

// Whole is an entry of a list with what its own page says. Smithery's list does not say how its servers are run; their
// pages do.
func (c Client) Whole(ctx context.Context, s Source, e Entry) (Entry, error) {
	if s.form != formSmithery || s.url == "" || len(e.Packages)+len(e.Remotes) > 0 {
		return e, nil
	}
	whole, err := c.one(ctx, s, e.Name, "")
	if err != nil {
		return e, err
	}
	whole.Status, whole.Uses, whole.Repository = e.Status, e.Uses, e.Repository // of these the page says nothing
	return whole, nil
}

func cutVersion(name string) (string, string) {
	if at := strings.LastIndex(name, "@"); at > 0 {
		return name[:at], name[at+1:]
	}
	return name, ""
}

// one asks an API for one server.
func (c Client) one(ctx context.Context, s Source, name, version string) (Entry, error) {
	if version == "" {
		version = "latest"
	}
	var u string
	switch s.form {
	case formOfficial:
		u = s.list(false) + "/" + url.PathEscape(name) + "/versions/" + url.PathEscape(version)
	case formSmithery: // its slash is escaped (OpenAPI, qualifiedName)
		u = s.url + "/" + url.PathEscape(name)
	default:
		u = s.url + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	}
	data, err := c.get(ctx, s, u)
	if err != nil {
		return Entry{}, unreachable(s, err)
	}
	p, err := Decode(data, s.Name)
	if err == nil && len(p.Skipped) > 0 {
		return Entry{}, &fault.Error{Code: fault.CodeUsage, What: "the registry's entry cannot be used", Where: s.Name,
			Why: p.Skipped[0], Next: "add the package itself, by npm:NAME or pypi:NAME"}
	}
	if err != nil || len(p.Entries) != 1 || p.Entries[0].Name != name {
		return Entry{}, &fault.Error{Code: fault.CodeUnavailable, What: "the registry's answer is not that server's",
			Where: u, Err: err, Next: "hone servers search " + name}
	}
	return p.Entries[0], nil
}

// list is the URL of the official API's list. Its frozen version is v0.1; v0 came before.
func (s Source) list(legacy bool) string {
	switch {
	case strings.HasSuffix(s.url, "/servers"):
		return s.url
	case legacy:
		return s.url + "/v0/servers"
	}
	return s.url + "/v0.1/servers"
}

// page is the URL of a page: each API has names of its own for the same things.
func (s Source) page(q Query, cursor string, legacy bool) string {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	size := perPage
	if q.Limit > 0 {
		size = min(size, q.Limit+1) // one more tells whether there are more
	}
	switch s.form {
	case formSmithery:
		set("q", q.Text)
		set("page", cursor)
		set("pageSize", strconv.Itoa(size))
		return s.url + "?" + v.Encode()
	case formGlama:
		set("query", q.Text)
		set("after", cursor)
		set("first", strconv.Itoa(size))
		return s.url + "?" + v.Encode()
	}
	words := strings.Fields(q.Text)
	if len(words) > 0 {
		// one word of names; the others are looked for here
		set("search", slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }))
	}
	set("cursor", cursor)
	set("limit", strconv.Itoa(size))
	set("version", "latest")
	if !q.Since.IsZero() {
		set("updated_since", q.Since.UTC().Format(time.RFC3339))
	}
	return s.list(legacy) + "?" + v.Encode()
}

// statusError is an answer that is no list.
type statusError struct {
	status int
	says   string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answers %d %s", e.status, e.says))
}

func isMissing(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status == http.StatusNotFound
}

// get asks for a document. A list that is too busy, or that fails, is asked again: after the time that it names, else
// after a second, two, four.
func (c Client) get(ctx context.Context, s Source, u string) (data []byte, err error) {
	for try := range tries {
		var again time.Duration
		if data, again, err = c.once(ctx, s, u); err == nil || again <= 0 || try == tries-1 || ctx.Err() != nil {
			return data, err
		}
		if again == time.Second {
			again <<= try
		}
		if again > longestWait {
			return nil, fmt.Errorf("%w, and asks to wait %s", err, again)
		}
		if c.Told != nil {
			c.Told("%s: %v; asking again in %s", s.Name, err, again)
		}
		wait := c.Wait
		if wait == nil {
			wait = sleep
		}
		if err := wait(ctx, again); err != nil {
			return nil, err
		}
	}
	return data, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once asks once. again is how long to wait before the same is asked again; 0 where that is of no use.
func (c Client) once(ctx context.Context, s Source, u string) (data []byte, again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "hone")
	if c.Key != nil {
		if key := c.Key(s); key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
	}
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	// a key would go along, and a list says where its packages are
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if to.URL.Host != via[0].URL.Host || to.URL.Scheme != via[0].URL.Scheme || len(via) > 5 {
			return fmt.Errorf("it sends us on to %s, which is not asked", to.URL.Host)
		}
		return nil
	}
	answer, err := client.Do(r)
	if err != nil {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err // the address is said elsewhere, once
		}
		if dns, is := errors.AsType[*net.DNSError](err); is && dns.IsNotFound {
			return nil, 0, err // a name that is not there is not there in some seconds
		}
		return nil, time.Second, err
	}
	defer answer.Body.Close()
	data, err = io.ReadAll(io.LimitReader(answer.Body, mostPage+1))
	if err != nil {
		return nil, time.Second, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, waitOf(answer), &statusError{answer.StatusCode, says(data)}
	}
	if len(data) > mostPage {
		return nil, 0, fmt.Errorf("its answer is larger than %d MiB", mostPage>>20)
	}
	return data, 0, nil
}

// waitOf is when an answer may be another: 429 and 5xx pass.
func waitOf(answer *http.Response) time.Duration {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < 500 {
		return 0
	}
	text := answer.Header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return max(time.Duration(min(n, 1<<20))*time.Second, time.Millisecond)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at).Round(time.Second), time.Millisecond)
	}
	return time.Second
}

// says is what an error answer says: the error of its JSON, or its detail, as the official API has it.
func says(data []byte) string {
	var e struct{ Error, Detail, Message string }
	if json.Unmarshal(data, &e) != nil {
		return ""
	}
	for _, text := range []string{e.Error, e.Detail, e.Message} {
		if text != "" {
			return fault.Short(text)
		}
	}
	return ""
}

func unreachable(s Source, err error) error {
	next := "look at the network, or name a folder of entries with --registry"
	if e, ok := errors.AsType[*statusError](err); ok &&
		(e.status == http.StatusUnauthorized || e.status == http.StatusForbidden) && s.Key() != "" {
		next = "set " + s.Key() + " to a key of yours"
	}
	return &fault.Error{Code: fault.CodeUnavailable, What: "the registry cannot be read", Where: s.url,
		Err: err, Next: next}
}

// compareVersions orders versions by their numbers, as far as they are numbers.
func compareVersions(a, b string) int {
	x, y := strings.FieldsFunc(a, notDigit), strings.FieldsFunc(b, notDigit)
	for i := range min(len(x), len(y)) {
		n, _ := strconv.Atoi(x[i]) // of digits; one too long is 0
		m, _ := strconv.Atoi(y[i])
		if n != m {
			return n - m
		}
	}
	return len(x) - len(y)
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
