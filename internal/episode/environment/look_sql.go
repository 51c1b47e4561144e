package environment

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Bounds of a query.
const (
	maxDatabase = 256 << 20 // bytes
	maxRows     = 10000
	queryTime   = 10 * time.Second
)

// query looks into a SQLite database. It looks at a copy, so the server's own is neither locked nor written, and what
// the server leaves there (links, a log that is not yet in the database) is read as it is. The text is a JSON list of
// the rows, each an object by column.
func (w *Watch) query(ctx context.Context, c scenario.Check) (trajectory.Observation, error) {
	root, err := w.root(c)
	if err != nil {
		return trajectory.Observation{}, err
	}
	defer root.Close()
	folder, err := os.MkdirTemp("", "hone-sql-*")
	if err != nil {
		return trajectory.Observation{}, err
	}
	defer os.RemoveAll(folder)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		err := copyOut(root, c.Path+suffix, filepath.Join(folder, "copy"+suffix))
		if suffix != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if saw, ok := nothing(err); ok {
			return saw, nil
		}
		if err != nil {
			return trajectory.Observation{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, fmt.Errorf("the query took longer than %s", queryTime))
	defer cancel()
	text, err := rowsOf(ctx, filepath.Join(folder, "copy"), c.Query)
	return classifyError(ctx, text, err)
}

func copyOut(root *os.Root, name, to string) error {
	in, err := open(root, name, maxDatabase)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxDatabase))
	return errors.Join(err, out.Close())
}

// errTooLong is a result with more rows or bytes than are recorded.
var errTooLong = errors.New("too long")

// ranInto is an error of a query that is sound: of the values it met, as a text that is no JSON in json_extract. Values
// are the episode's doing.
type ranInto struct{ error }

func (r ranInto) Unwrap() error { return r.error }

// classifyError tells what the database is like, which is seen, from what keeps it from being looked at.
func classifyError(ctx context.Context, text string, err error) (trajectory.Observation, error) {
	var failed *sqlite.Error
	switch {
	case err == nil:
		return shortObservation(text), nil
	case ctx.Err() != nil:
		return trajectory.Observation{}, context.Cause(ctx)
	case errors.Is(err, errTooLong):
		return trajectory.Observation{Status: trajectory.TooLong, Text: err.Error()}, nil
	case !errors.As(err, &failed):
		return trajectory.Observation{}, err
	}
	_, ran := errors.AsType[ranInto](err)
	switch code := failed.Code() & 0xff; {
	case ran && (code == sqlite3.SQLITE_ERROR || code == sqlite3.SQLITE_TOOBIG || code == sqlite3.SQLITE_MISMATCH):
		return trajectory.Observation{Status: trajectory.Unusable, Text: failed.Error()}, nil
	case code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT:
		return trajectory.Observation{Status: trajectory.Unusable, Text: failed.Error()}, nil
	case strings.Contains(failed.Error(), "no such table") || strings.Contains(failed.Error(), "no such column"):
		return trajectory.Observation{Status: trajectory.Absent, Text: failed.Error()}, nil
	case code == sqlite3.SQLITE_AUTH:
		return trajectory.Observation{}, fmt.Errorf("the query does more than read: %w", err)
	}
	return trajectory.Observation{}, fmt.Errorf("the query: %w", err)
}

// rowsOf runs a query that may read and do nothing else.
func rowsOf(ctx context.Context, path, query string) (string, error) {
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path),
		RawQuery: "_pragma=trusted_schema(0)&_pragma=query_only(1)"}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.Raw(func(driver any) error {
		return driver.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(readsOnly)
	}); err != nil {
		return "", err
	}
	// Within parentheses it can be nothing but one query, and its columns get names that differ.
	inner := "(\n" + strings.TrimRight(query, "; \t\r\n") + "\n)"
	head, err := c.QueryContext(ctx, "SELECT * FROM "+inner+" LIMIT 0")
	if err != nil {
		return "", err
	}
	columns, err := head.Columns()
	if err := errors.Join(err, head.Close()); err != nil {
		return "", err
	}
	// The sign takes the column's declared type away, by which the driver would make dates of texts.
	var values []string
	for _, name := range columns {
		values = append(values, `+"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	// which takes the first row too
	rows, err := c.QueryContext(ctx, "SELECT "+strings.Join(values, ", ")+" FROM "+inner)
	if err != nil {
		return "", ranInto{err}
	}
	defer rows.Close()
	text, err := encodeRows(rows, columns)
	if err != nil {
		return "", ranInto{err}
	}
	return text, nil
}

// readsOnly lets a query select, and nothing else: no file of another name is opened or written.
func readsOnly(action sqlite.AuthorizerActionCode, _, function, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if function != "load_extension" {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

func encodeRows(rows *sql.Rows, columns []string) (string, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for n := 0; rows.Next(); n++ {
		if n == maxRows || b.Len() > maxText {
			return "", fmt.Errorf("%w: more than %d rows or %d bytes", errTooLong, maxRows, maxText)
		}
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return "", err
		}
		row := map[string]any{}
		for i, name := range columns {
			row[name] = values[i]
			if blob, ok := values[i].([]byte); ok {
				row[name] = hex.EncodeToString(blob)
			}
		}
		text, err := json.Marshal(row)
		if err != nil {
			return "", err
		}
		if n > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteByte(']')
	return b.String(), rows.Err()
}
