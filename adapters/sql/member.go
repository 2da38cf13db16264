package main

import (
	"database/sql"
	"path/filepath"
	"syscall"

	"github.com/holdfast-go/holdfast/adapters/process"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// member has the common part of the servers of both databases: the data of one directory.
type member struct {
	bundled.Settings
	dir   string
	leads string // whom it follows; itself where it leads
	proc  *process.Program
	db    *sql.DB
	fails chan error
}

func newMember(s bundled.Settings, folder string, db *sql.DB) member {
	dir, err := filepath.Abs(filepath.Join(s.Data, folder))
	if err != nil {
		dir = filepath.Join(s.Data, folder)
	}
	return member{Settings: s, dir: dir, db: db, fails: make(chan error, 1)}
}

// Failed implements [bundled.Server].
func (m *member) Failed() <-chan error { return m.fails }

// end ends its process with a signal.
func (m *member) end(sig syscall.Signal) {
	m.proc.End(sig)
	m.db.Close()
}
