package traffic

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// Lengths, in bytes, up to which messages are shown.
const (
	longestWord = 40
	longestText = 120
)

// RequestText is a command with its first arguments.
func RequestText(args []string) string {
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
			words[i] = Word(words[i])
		}
	}
	return Short(strings.Join(words, " "), longestText)
}

// Word is a string as a message shows it: quoted if it would be ambiguous.
func Word(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r > '~' })
	s = Short(s, longestWord)
	if !plain {
		return strconv.Quote(s)
	}
	return s
}

// Short is a string of at most n bytes, with dots in place of the rest.
func Short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}

func ReplyText(frame []byte) string {
	v, err := resp.Parse(frame)
	if err != nil {
		return "?"
	}
	return Short(text(v), longestText)
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
		return Word(v.Text)
	case '%':
		return "{" + texts(v.Items) + "}"
	case '*', '~', '>':
		return "[" + texts(v.Items) + "]"
	}
	return v.Text
}

func texts(items []resp.Value) string {
	return strings.Join(english.Words(items, text), " ")
}

// ValueText describes the value of a key.
func ValueText(v keyspace.Value) string {
	switch v.Type {
	case "", "string":
		return Word(v.Str)
	case "hash":
	default:
		return Short(v.Type+" ["+v.String()+"]", longestText)
	}
	all := english.Words(slices.Sorted(maps.Keys(v.Hash)), func(f string) string { return Word(f) + ": " + Word(v.Hash[f]) })
	return Short("{"+strings.Join(all, ", ")+"}", longestText)
}
