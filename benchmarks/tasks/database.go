package tasks

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
)

// makeDatabase makes a SQLite database by statements that somebody else wrote: they may fill it, and reach no other
// file. Like the pipeline they come from, it leaves a table out at the first of its statements that SQLite refuses, and
// of the rows each that it refuses; refused counts both.
func makeDatabase(file string, tables []table, inserts []string) (refused int, err error) {
	if file, err = filepath.Abs(file); err != nil { // in a URL, what stands first would be a host
		return 0, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	// Written at once: nobody else sees the file yet, and a crash leaves none behind.
	for _, pragma := range []string{
		"PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF", "PRAGMA foreign_keys = OFF",
	} {
		if _, err := c.ExecContext(ctx, pragma); err != nil {
			return 0, err
		}
	}
	theirs := false // the statement is not ours
	if err := c.Raw(func(driver any) error {
		return driver.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(func(action sqlite.AuthorizerActionCode,
			_, second, _, _ string) sqlite.AuthorizerReturnCode {
			if theirs && !fills(action, second) {
				return sqlite.AuthorizerDeny
			}
			return sqlite.AuthorizerOK
		})
	}); err != nil {
		return 0, err
	}
	run := func(statement string) bool {
		theirs = true
		defer func() { theirs = false }()
		if _, err := c.ExecContext(ctx, statement); err != nil {
			refused++
			return false
		}
		return true
	}
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	for _, t := range tables {
		ok := run(t.DDL)
		for _, statement := range append(append([]string{}, t.Indexes...), t.Examples...) {
			ok = ok && run(statement)
		}
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return 0, err
	}
	if _, err := c.ExecContext(ctx, "PRAGMA foreign_keys = ON"); err != nil {
		return 0, err
	}
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	for _, statement := range inserts {
		run(statement)
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	return refused, err
}

// fills reports whether a statement does no more than make and fill tables: none attaches or writes another file, loads
// code, changes a setting, or ends our transaction.
func fills(action sqlite.AuthorizerActionCode, function string) bool {
	switch action {
	case sqlite.AuthAttach, sqlite.AuthDetach, sqlite.AuthPragma, sqlite.AuthTransaction, sqlite.AuthSavepoint:
		return false
	case sqlite.AuthFunction:
		return function != "load_extension"
	}
	return true
}
