package sim

import (
	"slices"
	"strconv"
	"strings"
)

// keyed lists the commands whose first argument is a key, and whether they
// write. Scripts name their first key after the number of keys.
var keyed = map[string]bool{
	"SET": true, "SETNX": true, "SETEX": true, "PSETEX": true, "GETSET": true, "GETDEL": true, "DEL": true, "DELEX": true, "DELIFEQ": true, "UNLINK": true,
	"INCR": true, "INCRBY": true, "DECR": true, "DECRBY": true, "EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true, "PERSIST": true,
	"HSET": true, "HSETNX": true, "HINCRBY": true, "HDEL": true, "MSETNX": true, "MSET": true,
	"GET": false, "EXISTS": false, "TTL": false, "PTTL": false, "TYPE": false, "WATCH": false,
	"APPEND": true, "GETEX": true, "INCRBYFLOAT": true, "SETRANGE": true, "SETBIT": true, "RENAME": true, "RENAMENX": true, "RESTORE": true, "COPY": true,
	"HINCRBYFLOAT": true, "HMSET": true, "HPERSIST": true,
	"LPUSH": true, "LPUSHX": true, "RPUSH": true, "RPUSHX": true, "LPOP": true, "RPOP": true, "LREM": true, "LSET": true, "LTRIM": true, "LINSERT": true,
	"LMOVE": true, "RPOPLPUSH": true, "BLPOP": true, "BRPOP": true, "BLMOVE": true, "BRPOPLPUSH": true,
	"SADD": true, "SREM": true, "SPOP": true, "SMOVE": true, "SDIFFSTORE": true, "SINTERSTORE": true, "SUNIONSTORE": true,
	"ZADD": true, "ZREM": true, "ZINCRBY": true, "ZPOPMIN": true, "ZPOPMAX": true, "BZPOPMIN": true, "BZPOPMAX": true, "GEOADD": true,
	"ZREMRANGEBYRANK": true, "ZREMRANGEBYSCORE": true, "ZREMRANGEBYLEX": true, "ZINTERSTORE": true, "ZUNIONSTORE": true,
	"XADD": true, "XDEL": true, "XTRIM": true,
	"LRANGE": false, "LLEN": false, "LINDEX": false, "LPOS": false,
	"SMEMBERS": false, "SISMEMBER": false, "SMISMEMBER": false, "SCARD": false, "SRANDMEMBER": false,
	"ZRANGE": false, "ZREVRANGE": false, "ZRANGEBYSCORE": false, "ZREVRANGEBYSCORE": false, "ZRANGEBYLEX": false, "ZREVRANGEBYLEX": false,
	"ZRANK": false, "ZREVRANK": false, "ZSCORE": false, "ZMSCORE": false, "ZCARD": false, "ZCOUNT": false, "ZLEXCOUNT": false,
	"XRANGE": false, "XREVRANGE": false, "XLEN": false, "HMGET": false, "HKEYS": false, "HVALS": false, "HSTRLEN": false, "GETRANGE": false,
	"HGET": false, "HEXISTS": false, "HGETALL": false, "HLEN": false, "STRLEN": false,
}

// counted lists the commands whose keys follow their number, by the position of
// that number. They write, except EVAL_RO and EVALSHA_RO.
var counted = map[string]int{
	"EVAL": 2, "EVALSHA": 2, "EVAL_RO": 2, "EVALSHA_RO": 2, "LMPOP": 1, "ZMPOP": 1, "BLMPOP": 2, "BZMPOP": 2,
}

// listed lists the commands whose first arguments are keys, by their number; 0 stands for
// all arguments. Those of [keyed] that are not here have one key.
var listed = map[string]int{
	"DEL": 0, "UNLINK": 0, "EXISTS": 0, "WATCH": 0,
	"RENAME": 2, "RENAMENX": 2, "COPY": 2, "SMOVE": 2, "LMOVE": 2, "RPOPLPUSH": 2,
}

// keysOf are the keys of a command, all of one slot, and whether the command writes. A
// script counts as writing.
func keysOf(cmd string, args []string) (keys []string, write bool) {
	if at, is := counted[cmd]; is {
		if len(args) > at {
			n, _ := strconv.Atoi(args[at])
			keys = args[at+1 : max(at+1, min(at+1+n, len(args)))]
		}
		return keys, !strings.HasSuffix(cmd, "_RO")
	}
	if i := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") }); cmd == "XREAD" && i > 0 && i+1 < len(args) {
		return args[i+1 : i+2], false
	}
	write, known := keyed[cmd]
	if !known || len(args) < 2 {
		return nil, false
	}
	n, several := listed[cmd]
	switch {
	case !several:
		return args[1:2], write
	case n == 0:
		return args[1:], write
	}
	return args[1:min(1+n, len(args))], write
}
