// Package request reads what a Redis client sends, for servers that execute it
// with miniredis.
package request

import (
	"bufio"

	"github.com/alicebob/miniredis/v2/server"
)

// Read reads one request, an array of strings that is not empty.
func Read(in *bufio.Reader) ([]string, error) {
	reply, err := server.ParseReply(in)
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return nil, server.ErrProtocol
	}
	args := make([]string, len(list))
	for i, x := range list {
		if args[i], ok = x.(string); !ok {
			return nil, server.ErrProtocol
		}
	}
	return args, nil
}
