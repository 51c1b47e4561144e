package run

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hone/internal/fault"
)

// failed turns a file or database error into what a user sees. A full disk, quota, or table of open files is
// CodeExhausted, so that callers stop resumable instead of blaming their own work.
func failed(what, where string, err error) error {
	if err == nil {
		return nil
	}
	var already *fault.Error
	if errors.As(err, &already) {
		return err
	}
	f := &fault.Error{Code: fault.CodeError, What: what, Where: where, Err: err}
	if exhausted(err) {
		f.Code = fault.CodeExhausted
		f.Next = "free space (or open files) there, then resume the run: nothing half-written was published"
	}
	return f
}

func exhausted(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EFBIG} {
		if errors.Is(err, e) {
			return true
		}
	}
	var db *sqlite.Error
	if errors.As(err, &db) {
		primary := db.Code() & 0xff // the extended code's low byte
		// A full quota and a file-size limit reach us as a failed write: SQLite knows a full disk only.
		return primary == sqlite3.SQLITE_FULL || primary == sqlite3.SQLITE_NOMEM || db.Code() == sqlite3.SQLITE_IOERR_WRITE
	}
	return false
}
