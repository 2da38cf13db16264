package keyspace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// FormatScore writes a score such that it reads back as the same number.
// JSON has no words for an infinite one.
func FormatScore(score float64) string { return strconv.FormatFloat(score, 'g', -1, 64) }

func parseScore(s string) (float64, error) {
	score, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("read a score: %w", err)
	}
	return score, nil
}

// writeStream makes a stream with these entries. A stream without entries is
// one that lost its last.
func writeStream(mr *miniredis.Miniredis, key string, entries []Entry) error {
	for _, e := range entries {
		if _, err := mr.XAdd(key, e.ID, e.Fields); err != nil {
			return fmt.Errorf("add entry %s: %w", e.ID, err)
		}
	}
	if len(entries) > 0 {
		return nil
	}
	const id = "0-1"
	if _, err := mr.XAdd(key, id, []string{"gone", "1"}); err != nil {
		return fmt.Errorf("make an empty stream: %w", err)
	}
	mr.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), []string{"XDEL", key, id})
	return nil
}
