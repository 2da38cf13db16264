package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// framing cuts a stream into messages: RESP between client and server, lines
// between servers.
type framing struct {
	frames resp.Splitter
	line   []byte
}

func (f *framing) split(lines bool, data []byte) (whole [][]byte) {
	if !lines {
		for _, p := range f.frames.Split(data) {
			whole = append(whole, p.Data)
		}
		return whole
	}
	f.line = append(f.line, data...)
	for {
		i := bytes.IndexByte(f.line, '\n')
		if i < 0 {
			return whole
		}
		whole = append(whole, bytes.Clone(f.line[:i+1]))
		f.line = f.line[i+1:]
	}
}

// questions are the commands of a connection without a reply so far.
type questions struct {
	ended sync.Once // the connection

	mu      sync.Mutex
	waiting []string
}

func (q *questions) ask(cmd string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, cmd)
}

// next is the command of the next reply, or "".
func (q *questions) next() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return ""
	}
	cmd := q.waiting[0]
	q.waiting = q.waiting[1:]
	return cmd
}

// describe returns the kind and text of a message. The caller holds the lock.
func (f *flow) describe(frame []byte) (kind, text string) {
	switch {
	case f.link.replicates && f.up:
		return traffic.Ack, "has " + strings.TrimSpace(string(frame))
	case f.link.replicates:
		return traffic.Effect, effectText(frame)
	case f.up:
		args, err := resp.ParseRequest(frame)
		if err != nil {
			return traffic.Request, traffic.Short(string(frame), 40)
		}
		if cmd := strings.ToUpper(args[0]); !strings.HasSuffix(cmd, "SUBSCRIBE") {
			f.asked.ask(cmd)
		}
		return traffic.Request, traffic.RequestText(args)
	}
	text = traffic.ReplyText(frame)
	if pushed(frame) {
		return traffic.Push, text
	}
	if cmd := f.asked.next(); cmd != "" {
		text += " to " + cmd
	}
	return traffic.Reply, text
}

// pubsub are the first words of a server's messages about a subscription.
var pubsub = []string{"message", "pmessage", "subscribe", "unsubscribe", "psubscribe", "punsubscribe"}

// pushed reports whether a frame is a push, or its equivalent in RESP2.
func pushed(frame []byte) bool {
	h, _ := resp.ParseHead(frame)
	return h.Kind == '>' || slices.Contains(pubsub, h.First)
}

// effectText is a change on its way to a replica.
func effectText(line []byte) string {
	var e effect
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
		return traffic.Short(string(line), 40)
	case e.Full:
		return fmt.Sprintf("%d: all data, keys: %d", e.Offset, len(e.Snapshot))
	case !e.Value.Exists():
		return fmt.Sprintf("%d: %s is gone", e.Offset, traffic.Word(e.Key))
	}
	return fmt.Sprintf("%d: %s is %s", e.Offset, traffic.Word(e.Key), traffic.ValueText(e.Value))
}
