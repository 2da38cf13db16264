package script

import (
	"slices"

	"github.com/alicebob/miniredis/v2/server"
)

// Keys are the keys of a server whose values a request may have changed.
type Keys struct {
	Any   bool     // it may be any key
	Names []string // else these, sorted, each once
}

func (k *Keys) reset() { k.Any, k.Names = false, k.Names[:0] }

// add adds the keys that a command may change, by its name in upper case and its
// arguments.
func (k *Keys) add(srv *server.Server, cmd string, args []string) {
	n, known := writes[cmd]
	switch {
	case k.Any:
	case !known:
		k.Any = !srv.IsReadOnlyCommand(cmd)
	case n < 0:
		k.insert(args...)
	default:
		k.insert(args[:min(n, len(args))]...)
	}
}

func (k *Keys) insert(names ...string) {
	for _, name := range names {
		if i, found := slices.BinarySearch(k.Names, name); !found {
			k.Names = slices.Insert(k.Names, i, name)
		}
	}
}

// writes has the number of a command's first arguments that are keys which it may change,
// and -1 if all of them are. miniredis lists the commands that only read, apart from
// those with a 0 here. A command that is missing may change any key.
var writes = map[string]int{
	"PING": 0, "ECHO": 0, "TIME": 0, "INFO": 0, "HELLO": 0, "AUTH": 0, "CLIENT": 0, "CLUSTER": 0, "COMMAND": 0, "QUIT": 0,
	"PUBLISH": 0, "SUBSCRIBE": 0, "PSUBSCRIBE": 0, "UNSUBSCRIBE": 0, "PUNSUBSCRIBE": 0, "PUBSUB": 0, "SCRIPT": 0,
	"WATCH": 0, "UNWATCH": 0,

	"DEL": -1, "UNLINK": -1, "DELEX": 1, "DELIFEQ": 1,
	"EXPIRE": 1, "PEXPIRE": 1, "EXPIREAT": 1, "PEXPIREAT": 1, "PERSIST": 1,
	"SET": 1, "SETNX": 1, "SETEX": 1, "PSETEX": 1, "GETSET": 1, "GETDEL": 1, "GETEX": 1, "APPEND": 1, "SETRANGE": 1, "SETBIT": 1,
	"INCR": 1, "INCRBY": 1, "INCRBYFLOAT": 1, "DECR": 1, "DECRBY": 1,
	"HSET": 1, "HSETNX": 1, "HMSET": 1, "HDEL": 1, "HINCRBY": 1, "HINCRBYFLOAT": 1,
	"LPUSH": 1, "RPUSH": 1, "LPUSHX": 1, "RPUSHX": 1, "LPOP": 1, "RPOP": 1, "LREM": 1, "LSET": 1, "LTRIM": 1, "LINSERT": 1,
	"SADD": 1, "SREM": 1, "SPOP": 1,
	"ZADD": 1, "ZREM": 1, "ZINCRBY": 1, "ZPOPMIN": 1, "ZPOPMAX": 1, "ZREMRANGEBYSCORE": 1, "ZREMRANGEBYRANK": 1, "ZREMRANGEBYLEX": 1,
}
