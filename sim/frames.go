package sim

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
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
			return traffic.Request, short(string(frame), 40)
		}
		if cmd := strings.ToUpper(args[0]); !strings.HasSuffix(cmd, "SUBSCRIBE") {
			f.asked.ask(cmd)
		}
		return traffic.Request, requestText(args)
	}
	text = replyText(frame)
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

// Lengths, in bytes, up to which messages are shown.
const (
	longestWord = 40
	longestText = 120
)

// requestText is a command with its first arguments.
func requestText(args []string) string {
	words := slices.Clone(args)
	words[0] = strings.ToUpper(words[0])
	for i := 1; i < len(words); i++ {
		switch {
		case i == 1 && words[0] == "EVALSHA" && len(words[1]) == 2*sha1.Size:
			words[1] = words[1][:8]
		case i == 1 && words[0] == "EVAL":
			sum := sha1.Sum([]byte(words[1]))
			words[1] = "<script " + hex.EncodeToString(sum[:4]) + ">"
		default:
			words[i] = word(words[i])
		}
	}
	return short(strings.Join(words, " "), longestText)
}

// word is a string as a message shows it: quoted if it would be ambiguous.
func word(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r > '~' })
	s = short(s, longestWord)
	if !plain {
		return strconv.Quote(s)
	}
	return s
}

func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}

// replyText is a reply, in a line.
func replyText(frame []byte) string {
	v, err := resp.Parse(frame)
	if err != nil {
		return "?"
	}
	return short(text(v), longestText)
}

func text(v resp.Value) string {
	switch {
	case v.Null:
		return "nil"
	case v.Err() != nil:
		return "error " + v.Text
	}
	switch v.Kind {
	case '$', '=':
		return word(v.Text)
	case '%':
		return "{" + texts(v.Items) + "}"
	case '*', '~', '>':
		return "[" + texts(v.Items) + "]"
	}
	return v.Text
}

func texts(items []resp.Value) string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return strings.Join(all, " ")
}

// effectText is a change on its way to a replica.
func effectText(line []byte) string {
	var e effect
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
		return short(string(line), longestWord)
	case e.Full:
		return fmt.Sprintf("%d: all data, keys: %d", e.Offset, len(e.Snapshot))
	case !e.Value.Exists():
		return fmt.Sprintf("%d: %s is gone", e.Offset, word(e.Key))
	}
	return fmt.Sprintf("%d: %s is %s", e.Offset, word(e.Key), valueText(e.Value))
}

// valueText describes the value of a key.
func valueText(v keyspace.Value) string {
	switch v.Type {
	case "", "string":
		return word(v.Str)
	case "hash":
	default:
		return short(v.Type+" ["+v.String()+"]", longestText)
	}
	var all []string
	for _, f := range sortedKeys(v.Hash) {
		all = append(all, word(f)+": "+word(v.Hash[f]))
	}
	return short("{"+strings.Join(all, ", ")+"}", longestText)
}
