package run

import (
	"errors"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hone/internal/fault"
)

// storageError turns a file or database error into what a user sees. A full disk, quota, or table of open files is
// CodeExhausted, so that callers stop resumable instead of blaming their own work.
func storageError(what, where string, err error) error {
	if err == nil {
		return nil
	}
	var already *fault.Error
	if errors.As(err, &already) {
		return err
	}
	f := &fault.Error{Code: fault.CodeError, What: what, Where: where, Err: err}
	switch code := sqliteCode(err); {
	case isFull(err):
		f.Code = fault.CodeExhausted
		f.Next = "free space (or open files) there, then resume the run: nothing half-written was published"
	case errors.Is(err, fs.ErrPermission), code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_READONLY:
		f.Next = "make it readable and writable for the user that runs hone, or name another directory"
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB:
		f.Next = "the ledger is damaged: put a copy of it back; or hone runs resume with --rebuild-ledger makes it " +
			"again from the files beside it"
	}
	return f
}

// sqliteCode is the primary result code of a database error, 0 of others.
func sqliteCode(err error) int {
	if db, ok := errors.AsType[*sqlite.Error](err); ok {
		return db.Code() & 0xff // the extended code's low byte
	}
	return 0
}

func isFull(err error) bool {
	for _, e := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EFBIG,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	if code := sqliteCode(err); code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_NOMEM {
		return true
	}
	// A full quota and a file-size limit reach us as a failed write: SQLite knows a full disk only.
	db, ok := errors.AsType[*sqlite.Error](err)
	return ok && db.Code() == sqlite3.SQLITE_IOERR_WRITE
}
