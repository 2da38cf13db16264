package liveplay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
)

// journal writes the history of a run to a file during the run, so that it can be
// judged if the harness is killed. It lags behind, so that the servers' own
// reports arrive in order.
type journal struct {
	file *os.File
	quit chan struct{}
	done sync.WaitGroup
	err  error // of writing; read it after done
}

const (
	journalEvery = 100 * time.Millisecond
	journalLag   = 500 * time.Millisecond
)

// openJournal starts a journal of the events of r. An empty path means none.
func openJournal(path string, h history.Header, r *play.Recorder) (*journal, error) {
	if path == "" {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	e, err := history.NewEncoder(f, h)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j := &journal{file: f, quit: make(chan struct{})}
	j.done.Go(func() { j.write(e, r) })
	return j, nil
}

func (j *journal) write(e *history.Encoder, r *play.Recorder) {
	tick := time.NewTicker(journalEvery)
	defer tick.Stop()
	written, last := 0, int64(0)
	for {
		select {
		case <-tick.C:
		case <-j.quit:
			return
		}
		for _, ev := range r.Settled(written, time.Now().Add(-journalLag)) {
			written++
			last = max(last, ev.Time) // one that came later still may not go back
			ev.Time = last
			if j.err = e.Encode(&ev); j.err != nil {
				return
			}
		}
	}
}

// close ends the journal and removes its file, because the complete history replaces it.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	close(j.quit)
	j.done.Wait()
	return errors.Join(j.err, j.file.Close(), os.Remove(j.file.Name()))
}
